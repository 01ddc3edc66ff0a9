// Timestamps of RFC 3161: creates requests and verifies responses. This file and its imports need
// only Node, so that `custos verify` checks a token without loading the service.

import { createHash, type KeyObject, verify, X509Certificate } from 'node:crypto'
import { formatTime } from '../clock.ts'
import { context, DerError, DerSequence, derElement, TAG, unsignedContent } from './der.ts'

// Object identifiers as the content of their element, in hex.
const OID = {
  signed_data: '2a864886f70d010702',
  timestamp_info: '2a864886f70d0109100104',
  content_type: '2a864886f70d010903',
  message_digest: '2a864886f70d010904',
  signing_certificate: '2a864886f70d010910020c',
  signing_certificate_v2: '2a864886f70d010910022f',
  sha256: '608648016503040201',
} as const

/** Digests that a signature may use; SHA-1 is not allowed. */
const DIGESTS: Readonly<Record<string, string>> = {
  [OID.sha256]: 'sha256',
  '608648016503040202': 'sha384',
  '608648016503040203': 'sha512',
}

/** Signature algorithms and their digest; null if the signer's digest member names it. */
const SIGNATURES: Readonly<Record<string, string | null>> = {
  // RSA (PKCS #1 v1.5)
  '2a864886f70d010101': null,
  '2a864886f70d01010b': 'sha256',
  '2a864886f70d01010c': 'sha384',
  '2a864886f70d01010d': 'sha512',
  // ECDSA
  '2a8648ce3d040302': 'sha256',
  '2a8648ce3d040303': 'sha384',
  '2a8648ce3d040304': 'sha512',
}

const TIME_STAMPING = '1.3.6.1.5.5.7.3.8'
const CHAIN_MAX = 8
const NONCE_BYTES = 8

export type TimestampFault =
  | 'malformed'
  | 'not_granted'
  | 'wrong_imprint'
  | 'wrong_nonce'
  | 'unsupported_algorithm'
  | 'unknown_certificate'
  | 'not_for_timestamps'
  | 'untrusted_certificate'
  | 'signature_invalid'

export type TimestampVerdict =
  | { readonly ok: true; readonly token: Buffer; readonly stamped_us: number }
  | { readonly ok: false; readonly reason: TimestampFault }

export interface TimestampClaim {
  /** The stamped bytes, not their digest. */
  readonly message: Uint8Array
  /**
   * Trusted certificates: the signer's own, or an issuer above it. If null, any signer is accepted
   * whose certificate is in the token.
   */
  readonly trusted: readonly X509Certificate[] | null
  /** The nonce of the request; absent for a token that was obtained earlier. */
  readonly nonce?: Uint8Array
}

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()

/** A TimeStampReq over the SHA-256 of the message, which requests the certificate in the token. */
export function timestampRequest(message: Uint8Array, nonce: Uint8Array): Buffer {
  if (nonce.length !== NONCE_BYTES) throw new RangeError(`a nonce has ${NONCE_BYTES} bytes`)
  const algorithm = derElement(
    TAG.sequence,
    derElement(TAG.oid, Buffer.from(OID.sha256, 'hex')),
    derElement(TAG.null),
  )
  return derElement(
    TAG.sequence,
    derElement(TAG.integer, Buffer.from([1])),
    derElement(TAG.sequence, algorithm, derElement(TAG.octets, sha256(message))),
    derElement(TAG.integer, unsignedContent(nonce)),
    derElement(TAG.boolean, Buffer.from([0xff])),
  )
}

/** Verifies a response (TimeStampResp). Never throws, whatever the authority sent. */
export const verifyTimestampReply = (reply: Uint8Array, claim: TimestampClaim): TimestampVerdict =>
  verdictOf(() => verifyToken(tokenOfReply(Buffer.from(reply)), claim))

/** Verifies a stored token (TimeStampToken). Never throws, whatever is stored. */
export const verifyTimestampToken = (token: Uint8Array, claim: TimestampClaim): TimestampVerdict =>
  verdictOf(() => verifyToken(Buffer.from(token), claim))

/** The certificates of a PEM text. Returns an empty array if any of them is unreadable. */
export function readCertificates(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  try {
    return blocks.map((block) => new X509Certificate(block))
  } catch {
    return []
  }
}

class TimestampError extends Error {
  readonly reason: TimestampFault

  constructor(reason: TimestampFault) {
    super(reason)
    this.reason = reason
  }
}

function verdictOf(act: () => TimestampVerdict): TimestampVerdict {
  try {
    return act()
  } catch (error) {
    if (error instanceof TimestampError) return { ok: false, reason: error.reason }
    if (error instanceof DerError) return { ok: false, reason: 'malformed' }
    throw error
  }
}

function tokenOfReply(reply: Buffer): Buffer {
  const response = DerSequence.of(reply)
  const status = response.sequence().take(TAG.integer).content
  // 0: granted; 1: granted with modifications.
  if (status.length !== 1 || (status[0] ?? 2) > 1) throw new TimestampError('not_granted')
  const token = response.take(TAG.sequence).whole
  response.end()
  return token
}

function verifyToken(token: Buffer, claim: TimestampClaim): TimestampVerdict {
  const signed = readSignedData(token)
  const info = readInfo(signed.content)
  if (!info.imprint.equals(sha256(claim.message))) throw new TimestampError('wrong_imprint')
  if (claim.nonce && !info.nonce?.equals(unsignedContent(claim.nonce)))
    throw new TimestampError('wrong_nonce')
  const { signer, certificates } = signed
  const attributes = readAttributes(signer.attributes)
  const digest = createHash(signer.digest).update(signed.content).digest()
  if (!attributes.digest.equals(digest)) throw new TimestampError('signature_invalid')
  const known = [...certificates, ...(claim.trusted ?? [])]
  const own = known.find(({ raw }) => attributes.isCertificate(raw))
  if (!own) throw new TimestampError('unknown_certificate')
  if (!isSignedBy(own, signer)) throw new TimestampError('signature_invalid')
  const { keyUsage: purposes } = own
  if (purposes?.length !== 1 || purposes[0] !== TIME_STAMPING)
    throw new TimestampError('not_for_timestamps')
  const { trusted } = claim
  if (trusted && !isTrusted(own, { trusted, between: certificates, at: info.stamped_us }))
    throw new TimestampError('untrusted_certificate')
  return { ok: true, token, stamped_us: info.stamped_us }
}

/** Reads ContentInfo with SignedData over TSTInfo by one signer (RFC 5652, 5.1). */
function readSignedData(token: Buffer) {
  const outer = DerSequence.of(token)
  if (outer.oid() !== OID.signed_data) throw new DerError('no signed data')
  const explicit = outer.sequence(context(0))
  outer.end()
  const data = explicit.sequence()
  explicit.end()
  data.take(TAG.integer)
  data.take(TAG.set)
  const encapsulated = data.sequence()
  if (encapsulated.oid() !== OID.timestamp_info) throw new DerError('no timestamp')
  const content = encapsulated.sequence(context(0)).octets()
  encapsulated.end()
  const certificates = data.optional(context(0))
  data.optional(context(1))
  const signers = data.sequence(TAG.set)
  data.end()
  const signer = readSigner(signers.sequence())
  signers.end()
  return { content, signer, certificates: certificatesOf(certificates?.content) }
}

function certificatesOf(content: Buffer | undefined): X509Certificate[] {
  if (content === undefined) return []
  return new DerSequence(content).rest().map(({ whole }) => {
    try {
      return new X509Certificate(whole)
    } catch {
      throw new DerError('no certificate')
    }
  })
}

function readSigner(info: DerSequence) {
  info.take(TAG.integer)
  // Skips issuer and serial number, or key id, because they are not signed. A signed attribute
  // contains the digest of the certificate and identifies the certificate.
  if (!info.optional(context(0)) && !info.optional(0x80)) info.take(TAG.sequence)
  const digest = DIGESTS[info.sequence().oid()]
  const attributes = info.take(context(0)).content
  const algorithm = info.sequence().oid()
  const signature = info.octets()
  info.optional(context(1))
  info.end()
  const named = SIGNATURES[algorithm]
  if (digest === undefined || named === undefined) throw new TimestampError('unsupported_algorithm')
  return { digest, signature_digest: named ?? digest, attributes, signature }
}

function isSignedBy(certificate: X509Certificate, signer: ReturnType<typeof readSigner>): boolean {
  // The signature is over the SET, not over the tagged member that replaces it (RFC 5652, 5.4).
  const message = derElement(TAG.set, signer.attributes)
  const publicKey = keyOf(certificate)
  if (publicKey.asymmetricKeyType !== 'rsa' && publicKey.asymmetricKeyType !== 'ec') return false
  return verify(signer.signature_digest, message, publicKey, signer.signature)
}

/** Throws `unsupported_algorithm` for a key that OpenSSL does not support. */
function keyOf(certificate: X509Certificate): KeyObject {
  try {
    return certificate.publicKey
  } catch {
    throw new TimestampError('unsupported_algorithm')
  }
}

/** Reads the signed attributes that a timestamp must have, each exactly once. */
function readAttributes(content: Buffer) {
  const values = new Map<string, DerSequence>()
  for (const { content: attribute } of new DerSequence(content).rest()) {
    const members = new DerSequence(attribute)
    const type = members.oid()
    if (values.has(type)) throw new DerError('an attribute twice')
    values.set(type, members.sequence(TAG.set))
    members.end()
  }
  if (values.get(OID.content_type)?.oid() !== OID.timestamp_info)
    throw new DerError('no type of content')
  const digest = values.get(OID.message_digest)?.octets()
  if (digest === undefined) throw new DerError('no digest')
  return { digest, isCertificate: certificateAttribute(values) }
}

/** Returns a check for the signer's certificate: by RFC 5035, or RFC 2634 with SHA-1. */
function certificateAttribute(
  values: ReadonlyMap<string, DerSequence>,
): (certificate: Uint8Array) => boolean {
  const second = values.get(OID.signing_certificate_v2)
  const attribute = second ?? values.get(OID.signing_certificate)
  if (!attribute) throw new DerError('no certificate of the signer')
  const first = attribute.sequence().sequence().sequence()
  const named = second ? first.optional(TAG.sequence) : undefined
  const algorithm = named === undefined ? OID.sha256 : new DerSequence(named.content).oid()
  const name = second ? DIGESTS[algorithm] : 'sha1'
  if (name === undefined) throw new TimestampError('unsupported_algorithm')
  const digest = first.octets()
  return (certificate) => createHash(name).update(certificate).digest().equals(digest)
}

/** Reads TSTInfo (RFC 3161, 2.4.2). */
function readInfo(content: Buffer) {
  const info = DerSequence.of(content)
  const version = info.take(TAG.integer).content
  if (version.length !== 1 || version[0] !== 1) throw new DerError('another version')
  info.oid()
  const imprinted = info.sequence()
  const algorithm = imprinted.sequence().oid()
  const imprint = imprinted.octets()
  imprinted.end()
  if (algorithm !== OID.sha256) throw new TimestampError('wrong_imprint')
  info.take(TAG.integer)
  const stamped_us = parseTime(info.take(TAG.time).content.toString('latin1'))
  info.optional(TAG.sequence)
  info.optional(TAG.boolean)
  const nonce = info.optional(TAG.integer)?.content
  info.optional(context(0))
  info.optional(context(1))
  info.end()
  return { imprint, stamped_us, nonce }
}

/** Microseconds since 1970 of a GeneralizedTime in the form that RFC 3161 allows. */
function parseTime(text: string): number {
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d{0,8}[1-9]))?Z$/.exec(text)
  if (!match) throw new DerError('no time')
  const [, year, month, day, hour, minute, second, fraction = ''] = match
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}`
  const ms = Date.parse(`${iso}Z`)
  // The Date parser would turn 31 February into a day of March.
  if (Number.isNaN(ms) || !formatTime(ms * 1_000).startsWith(iso)) throw new DerError('no time')
  return ms * 1_000 + Number(fraction.padEnd(6, '0').slice(0, 6))
}

/** Whether a chain of certificates, all valid at that time, leads to a trusted one. */
function isTrusted(
  own: X509Certificate,
  chain: {
    readonly trusted: readonly X509Certificate[]
    /** Certificates that came with the token. */
    readonly between: readonly X509Certificate[]
    readonly at: number
  },
): boolean {
  const { trusted, between, at } = chain
  let certificate = own
  for (let length = 0; length < CHAIN_MAX; length += 1) {
    if (!isValidAt(certificate, at)) return false
    if (trusted.some(({ raw }) => raw.equals(certificate.raw))) return true
    const below = certificate
    const issuer = [...trusted, ...between].find((above) => hasIssued(above, below))
    if (!issuer || issuer.raw.equals(below.raw)) return false
    certificate = issuer
  }
  return false
}

const isValidAt = ({ validFromDate, validToDate }: X509Certificate, at: number): boolean =>
  validFromDate.getTime() * 1_000 <= at && at <= validToDate.getTime() * 1_000

const hasIssued = (above: X509Certificate, below: X509Certificate): boolean =>
  above.ca && below.checkIssued(above) && below.verify(keyOf(above))
