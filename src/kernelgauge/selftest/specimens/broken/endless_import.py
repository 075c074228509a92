# Never finishes importing.
# class: fault/time
# verdict: timed_out
while True:
    pass
