// The only error that the functions of this package throw.

export type ProofErrorCode =
  | 'not_canonical'
  | 'malformed_encoding'
  | 'malformed_frontier'
  | 'malformed_note'
  | 'malformed_proof'
  | 'out_of_range'

/** Thrown by builders and parsers. The `verify*` functions never throw: they return a verdict. */
export class ProofError extends Error {
  override readonly name = 'ProofError'
  readonly code: ProofErrorCode

  constructor(code: ProofErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
