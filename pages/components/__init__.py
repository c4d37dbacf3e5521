"""Drawing pieces that several screens share."""
