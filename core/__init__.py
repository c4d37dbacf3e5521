"""Mixdown: from chat data of any shape to a measured speculative-decoding drafter. Never imports streamlit."""
