// The names of a report's parts in OSCAL: identifiers, properties and addresses.

import { createHash } from 'node:crypto'
import type { JsonObject } from '@custos/proof'

/**
 * The namespace of Custos properties; OSCAL's own have none. It is a name and not an address
 * (RFC 6761, 6.4), in a form that satisfies readers that require a scheme with slashes.
 */
export const NAMESPACE = 'https://custos.invalid/ns/oscal/1'

/** A random namespace UUID, within which names of reports are unique. */
const UUID_NAMESPACE = Buffer.from('5f3f0a1e6c2d4b7f9a53d0c8e41b7a26', 'hex')
const UUID_BYTES = 16

export const prop = (name: string, value: string | number | boolean): JsonObject => ({
  name,
  ns: NAMESPACE,
  value: String(value),
})

/** The names in one report. Controls and objectives are those of the catalogue in every report. */
export class Names {
  readonly #report_id: string

  constructor(report_id: string) {
    this.#report_id = report_id
  }

  uuid(...role: readonly string[]): string {
    return nameUuid(this.#report_id, ...role)
  }

  /** The id of a control, an OSCAL token: letters, digits, `_`, `.` and `-`, a letter first. */
  control({ framework, key }: { readonly framework: string; readonly key: string }): string {
    return `${framework}.${key}`
  }

  objective(section: { readonly framework: string; readonly key: string }): string {
    return `${this.control(section)}.evidence`
  }

  /** The address that lists an entry. Entries are listed in their order, from position 0. */
  entry(seq: number): string {
    return `/v1/gcrumbs/breadcrumbs?limit=1&offset=${seq}`
  }

  /** The address of the signed report. */
  get file(): string {
    return `/v1/reports/${this.#report_id}/download?format=json`
  }
}

/**
 * A UUID of version 5 (RFC 9562, 5.5), so that the same report gives the same file. The RFC
 * specifies SHA-1; nothing depends on its strength.
 */
export function nameUuid(...parts: readonly string[]): string {
  const hash = createHash('sha1').update(UUID_NAMESPACE).update(JSON.stringify(parts)).digest()
  const bytes = hash.subarray(0, UUID_BYTES)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  const cuts = [0, 8, 12, 16, 20, 32]
  return cuts
    .slice(1)
    .map((end, i) => hex.slice(cuts[i], end))
    .join('-')
}
