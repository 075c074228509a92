# What a chat model says when it has no code.
# class: fault/load
# verdict: load_failed
Certainly! Here is the optimised kernel you asked for.
