"""The laboratory: grids of experiments, tables, charts and topics. Charts and topics need the
libraries of the extra `[analysis]`; everything else does without them."""
