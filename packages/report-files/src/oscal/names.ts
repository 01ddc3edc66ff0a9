// How the parts of a report are named in OSCAL: identifiers, properties and addresses.

import type { JsonObject } from '@custos/proof'
import { nameUuid } from './uuid.ts'

/**
 * Of our own properties; OSCAL's have none. It is a name and no address (RFC 6761, 6.4), in a form
 * that readers take which want a scheme with slashes.
 */
export const NAMESPACE = 'https://custos.invalid/ns/oscal/1'

export const prop = (name: string, value: string | number | boolean): JsonObject => ({
  name,
  ns: NAMESPACE,
  value: String(value),
})

interface ControlName {
  readonly framework: string
  readonly key: string
}

/** Of one report. Controls and objectives are the catalogue's, the same in every report. */
export class Names {
  readonly #report_id: string

  constructor(report_id: string) {
    this.#report_id = report_id
  }

  uuid(...role: readonly string[]): string {
    return nameUuid(this.#report_id, ...role)
  }

  /** A token of OSCAL: letters, digits, `_`, `.` and `-`, a letter first. */
  control({ framework, key }: ControlName): string {
    return `${framework}.${key}`
  }

  objective(section: ControlName): string {
    return `${this.control(section)}.evidence`
  }

  /** Where an entry is listed: entries come in their order, from position 0 on. */
  entry(seq: number): string {
    return `/v1/gcrumbs/breadcrumbs?limit=1&offset=${seq}`
  }

  /** The signed report. */
  get file(): string {
    return `/v1/reports/${this.#report_id}/download?format=json`
  }
}
