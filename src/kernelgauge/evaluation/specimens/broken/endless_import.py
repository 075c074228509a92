# Never finishes importing.
# verdict: timed_out
while True:
    pass
