"""What is compared: distances and similarities of objects, and two views of one data set."""
