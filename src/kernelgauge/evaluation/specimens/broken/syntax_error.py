# Not Python.
# verdict: load_failed
class ModelNew(:
    pass
