"""Data sets of the Hugging Face hub: which files a config and split are, fetched once, checked, and kept in the workspace.

It knows the hub and its troubles. What is in the files is the readers' business. Importing this package alone is light; `download`
and `preview` bring huggingface_hub with them.
"""

from core.sources.hub.reference import HubReference, looks_like_hub_id

__all__ = ["HubReference", "looks_like_hub_id"]
