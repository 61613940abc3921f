"""Tidelog: Datalog whose answers stay up to date while facts and rules change."""
