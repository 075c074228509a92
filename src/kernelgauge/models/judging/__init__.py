"""An answer of a language model is judged and scored."""
