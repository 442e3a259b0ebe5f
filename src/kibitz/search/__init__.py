"""How Kibitz thinks: one file an algorithm, generic over games."""
