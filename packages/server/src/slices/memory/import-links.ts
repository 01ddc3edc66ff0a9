// Pure: the version chains of an import, checked line by line before any of it is written.

import type { ImportedFact } from './import-lines.ts'

interface Version {
  readonly valid_from_us: number
  readonly namespace: string | null
}

/**
 * Keeps what links need of every line: each version has at most one successor and one
 * predecessor, in its own namespace, and a successor begins later, so that no chain is a ring.
 */
export class ImportLinks {
  readonly #versions = new Map<number, Version>()
  readonly #predecessors = new Map<number, Version>()

  /** Why the line cannot be taken after those before it, or null. */
  add(fact: ImportedFact): string | null {
    const { ref, superseded_by, valid_from_us } = fact
    if (ref === null) return superseded_by === null ? null : 'a superseded memory needs its own ref'
    if (this.#versions.has(ref)) return `the ref ${ref} stands twice`
    // Without times of its own a memory begins when it is imported, after everything in the file.
    const version = {
      valid_from_us: valid_from_us ?? Number.POSITIVE_INFINITY,
      namespace: fact.draft.namespace,
    }
    this.#versions.set(ref, version)
    const before = this.#predecessors.get(ref)
    return (
      (before ? linkProblem(before, version) : null) ??
      (superseded_by === null ? null : this.#addLink(version, superseded_by))
    )
  }

  #addLink(version: Version, superseded_by: number): string | null {
    if (this.#predecessors.has(superseded_by)) return `${superseded_by} has two predecessors`
    this.#predecessors.set(superseded_by, version)
    const successor = this.#versions.get(superseded_by)
    return successor ? linkProblem(version, successor) : null
  }
}

function linkProblem(version: Version, successor: Version): string | null {
  if (version.namespace !== successor.namespace) return 'a version chain crosses namespaces'
  return version.valid_from_us < successor.valid_from_us
    ? null
    : 'a successor must begin after its predecessor'
}
