"""State machines over every learner; see core."""
