// What keeps an offline tool from doing its work, in one line for an operator.

export class OfflineError extends Error {}
