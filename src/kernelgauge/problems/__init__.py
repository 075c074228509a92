"""The suite's problems and a user's own: found by name, cut to size, handed on as text.

`level1/`, `level2/`, `level3/` hold one plain PyTorch file per problem at full size; `level1.json` and its
siblings say what the text cannot: smaller sizes, input domains, tags, known weaknesses. Nothing here runs a
problem or imports torch.
"""
