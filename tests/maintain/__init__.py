"""Maintenance: each way in which the ranked Update could go wrong, as a test of its own."""
