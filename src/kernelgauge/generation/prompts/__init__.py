"""What contestants are told: templates, and the facts they are filled with."""
