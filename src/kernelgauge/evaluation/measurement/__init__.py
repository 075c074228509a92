"""How much faster is the candidate?"""
