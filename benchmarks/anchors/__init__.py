"""Anchors: what published training throughput says of computing that laws and rows do not."""
