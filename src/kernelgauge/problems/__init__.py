"""The suite's problems and a user's own: found by name, cut to size, handed on as text.

`level1/` to `level4/` hold one plain PyTorch file per problem at full size; `level1.json` and its siblings say
what the text cannot: smaller sizes, input domains, tags, known weaknesses. Level 4 needs transformers (the extra
`level4`). Imported suites are folders of the same form elsewhere (`suites`, `importing`). Nothing here runs a
problem or imports torch.
"""
