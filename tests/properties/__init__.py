"""Properties that hold for every program and every history, tested on random ones. `check` has them as functions."""
