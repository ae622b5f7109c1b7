package guard

const safiUnicast = 1
