"""A steady life of jobs: which job comes next (`mix`), when (`pace`), and the loop that submits it (`runner`)."""
