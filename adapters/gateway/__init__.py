"""How does a gateway carry out the commands of `commands.*`, each at most once where a repeat would hurt?"""
