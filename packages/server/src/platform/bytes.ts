// Pure: bytes as hex and JSON, without copies where a view will do.

/** The same bytes as a Buffer, not copied. */
export const viewBytes = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Lower-case hex. */
export const toHex = (bytes: Uint8Array): string => viewBytes(bytes).toString('hex')

/** The bytes of hex that is known to be well-formed: its own ids, digests and keys. */
export const fromHex = (hex: string): Buffer => Buffer.from(hex, 'hex')

/** The UTF-8 of a value's JSON. */
export const jsonBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

/** How many bytes of UTF-8 a value's JSON takes. */
export const jsonByteLength = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
