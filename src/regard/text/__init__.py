"""What every task that writes text shares: vocabulary, words, special tokens, padding, the text model."""
