"""The one door for rows and labels, and the one scratch of a round."""
