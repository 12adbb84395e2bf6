"""Bridges to other people's frameworks; never loaded by ``import coactive_fast``."""
