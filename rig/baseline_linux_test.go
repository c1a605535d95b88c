package rig

// hasEpoll: the baseline can run.
const hasEpoll = true
