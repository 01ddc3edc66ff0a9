// The public face of a signing key, as it is listed for verifiers.

export interface PublishedKey {
  readonly key_id: string
  readonly purpose: string
  /** 32 bytes Ed25519, lower hex. */
  readonly public_key: string
  /** RFC 3339, six fractional digits, `Z`. */
  readonly valid_from: string
  readonly retired_at: string | null
}
