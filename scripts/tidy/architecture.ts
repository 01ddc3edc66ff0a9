// The shape of architecture.json, and which part of it a file belongs to.

export interface Zone {
  readonly name: string
  /** Files whose path starts with it; the longest match wins. */
  readonly path: string
  readonly about: string
  /** Zones whose files may be imported by relative path; always its own too. */
  readonly zones: readonly string[]
  /** Packages that may be imported. */
  readonly packages: readonly string[]
  /** Packages of which only types may be imported. */
  readonly types?: readonly string[]
  readonly builtins: boolean
  /** Ambient time, chance and environment are allowed (not part of the product). */
  readonly ambient?: boolean
}

/** Something only some files may import. Give one of `package`, `module`, `names`. */
export interface Restriction {
  readonly package?: string
  /** A file whose values may be imported only there; its types are free. */
  readonly module?: string
  readonly names?: readonly string[]
  /** Path beginnings, or endings when they start with `*`. */
  readonly where: readonly string[]
  /** Test files and test support may too. */
  readonly tests: boolean
  readonly use: string
}

export interface Ban {
  /** `a.b` is a property, `new A` a construction, anything else a name. */
  readonly what: string
  readonly use: string
  readonly except: readonly string[]
}

export interface Exemption {
  readonly rule: string
  /** A file, or a folder with its closing slash. */
  readonly path: string
  readonly reason: string
}

export interface Architecture {
  readonly tiers: readonly { tier: number; slices: readonly string[]; about: string }[]
  readonly zones: readonly Zone[]
  readonly restricted: readonly Restriction[]
  readonly bans: readonly Ban[]
  readonly limits: {
    readonly function_lines: number
    readonly file_lines: number
    readonly line_columns: number
    readonly parameters: number
    /** Code files in one folder, tests included. */
    readonly folder_files: number
    /** Exported types of one file. */
    readonly exported_types: number
    /** A file this long or shorter is joined to its only importer. */
    readonly small_file_lines: number
    /** Entries of the glossary in STYLE.md. */
    readonly glossary_entries: number
  }
  /** By rule, how many findings are still let through; only ever lowered. */
  readonly ceilings: Readonly<Record<string, number>>
  /** By measure of `--figures`, the most it should be. */
  readonly targets: Readonly<Record<string, number>>
  readonly exemptions: readonly Exemption[]
}

export const SLICES = 'packages/server/src/slices/'

export function isTest(path: string): boolean {
  return /\.test\.ts$/.test(path)
}

/** Harnesses and fixtures: a `testing/` folder, importable by tests only. */
export function isTestSupport(path: string): boolean {
  return /(^|\/)testing\//.test(path)
}

export function isProduct(path: string): boolean {
  return path.startsWith('packages/') && !isTest(path) && !isTestSupport(path)
}

export function zoneOf({ zones }: Architecture, path: string): Zone | undefined {
  let best: Zone | undefined
  for (const zone of zones) {
    if (path.startsWith(zone.path) && zone.path.length > (best?.path.length ?? -1)) best = zone
  }
  return best
}

/** The slice a file belongs to. */
export function sliceOf(path: string): string | undefined {
  return path.startsWith(SLICES) ? path.slice(SLICES.length).split('/')[0] : undefined
}

export function tierOf({ tiers }: Architecture, slice: string): number | undefined {
  return tiers.find(({ slices }) => slices.includes(slice))?.tier
}

/** Whether a path starts, or for patterns with a leading `*` ends, as one of the patterns says. */
export function matches(path: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.startsWith('*') ? path.endsWith(pattern.slice(1)) : path.startsWith(pattern),
  )
}

export function isExempt({ exemptions }: Architecture, rule: string, path: string): boolean {
  return exemptions.some((exemption) => exemption.rule === rule && matches(path, [exemption.path]))
}

/** The Markdown that ARCHITECTURE.md carries between its markers. */
export function renderTiers({ tiers }: Architecture): string {
  const lines = ['| Tier | Slices | What they hold |', '|---|---|---|']
  for (const { tier, slices, about } of tiers)
    lines.push(`| ${tier} | ${slices.map((s) => `\`${s}\``).join(', ')} | ${about} |`)
  return lines.join('\n')
}
