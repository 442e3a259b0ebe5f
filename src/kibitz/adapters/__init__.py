"""Kibitz in the tools of others: its games and agents in OpenSpiel, its games in PettingZoo.

The other way round, OpenSpiel's games are games here (`kibitz.games.openspiel`) and its searches are agents
(`kibitz.adapters.searches`).
"""
