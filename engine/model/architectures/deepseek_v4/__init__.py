"""DeepSeek-V4: compressed attention, hyper-connections, hash-routed experts.

Its layers share nothing with those of ``engine.model.native`` but the products, so it has a
checkpoint reader (``source``) and a decoder (``decoder``) of its own. The extra layer that drafts
tokens ahead ("mtp") is not read. Paper names: CSA and HCA attention, mHC residuals, the lightning
indexer.
"""
