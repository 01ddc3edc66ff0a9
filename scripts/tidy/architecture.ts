// The types of architecture.json, and the part of it that a file belongs to.

export interface Zone {
  readonly name: string
  /** Prefix of the paths of its files; the longest match wins. */
  readonly path: string
  readonly about: string
  /** Zones whose files may be imported by relative path, in addition to its own. */
  readonly zones: readonly string[]
  /** Packages that may be imported. */
  readonly packages: readonly string[]
  /** Packages of which only types may be imported. */
  readonly types?: readonly string[]
  readonly builtins: boolean
  /** Allows ambient time, randomness and environment (for code outside the product). */
  readonly ambient?: boolean
}

/** An import that only some files may use. Set one of `package`, `module` and `names`. */
export interface Restriction {
  readonly package?: string
  /** A file whose values may be imported only there; its types may be imported anywhere. */
  readonly module?: string
  readonly names?: readonly string[]
  /** Prefixes of paths, or suffixes if they start with `*`. */
  readonly where: readonly string[]
  /** Whether test files and test support may import it too. */
  readonly tests: boolean
  readonly use: string
}

export interface Ban {
  /** `a.b` matches a property, `new A` a construction, anything else a name. */
  readonly what: string
  readonly use: string
  readonly except: readonly string[]
}

export interface Exemption {
  readonly rule: string
  /** A file, or a folder with a final slash. */
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
    /** Maximum code files in one folder, tests included. */
    readonly folder_files: number
    /** Maximum exported types of one file. */
    readonly exported_types: number
    /** A file with at most this number of lines is to be joined to its only importer. */
    readonly small_file_lines: number
    /** Maximum entries of the glossary in STYLE.md. */
    readonly glossary_entries: number
  }
  /** Number of findings allowed per rule; may only be lowered. */
  readonly ceilings: Readonly<Record<string, number>>
  /** Upper limit per measure of `--figures`. */
  readonly targets: Readonly<Record<string, number>>
  readonly exemptions: readonly Exemption[]
}

export const SLICES = 'packages/server/src/slices/'

export function isTest(path: string): boolean {
  return /\.test\.ts$/.test(path)
}

/** Whether it is a harness or fixture: in a `testing/` folder, importable by tests only. */
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

/** The slice that a file belongs to. */
export function sliceOf(path: string): string | undefined {
  return path.startsWith(SLICES) ? path.slice(SLICES.length).split('/')[0] : undefined
}

export function tierOf({ tiers }: Architecture, slice: string): number | undefined {
  return tiers.find(({ slices }) => slices.includes(slice))?.tier
}

/** Whether the path starts with one of the patterns, or ends with one that has a leading `*`. */
export function matches(path: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.startsWith('*') ? path.endsWith(pattern.slice(1)) : path.startsWith(pattern),
  )
}

export function isExempt({ exemptions }: Architecture, rule: string, path: string): boolean {
  return exemptions.some((exemption) => exemption.rule === rule && matches(path, [exemption.path]))
}

/** The Markdown between the markers of ARCHITECTURE.md. */
export function renderTiers({ tiers }: Architecture): string {
  const lines = ['| Tier | Slices | What they hold |', '|---|---|---|']
  for (const { tier, slices, about } of tiers)
    lines.push(`| ${tier} | ${slices.map((s) => `\`${s}\``).join(', ')} | ${about} |`)
  return lines.join('\n')
}
