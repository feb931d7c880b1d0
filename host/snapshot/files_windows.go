package snapshot

const inPlace = 0
