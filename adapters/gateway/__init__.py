"""How do orders on `commands.*` reach people, each at most once where it would hurt, and what came of them?"""
