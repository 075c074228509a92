# Not Python.
# class: fault/load
# verdict: load_failed
class ModelNew(:
    pass
