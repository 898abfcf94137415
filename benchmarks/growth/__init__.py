"""Growth: how what something costs grows with what there is of it."""
