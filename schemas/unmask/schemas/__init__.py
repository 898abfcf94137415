"""The contract: record models, closed sets, the codec and the topics."""
