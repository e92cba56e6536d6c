"""Files of rows, of answers, of models."""
