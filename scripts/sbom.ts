// Prints the production dependencies as a CycloneDX bill of materials: `npm run --silent sbom`.
//
// `npm sbom` lists everything; with --omit=dev it would leave out what one package needs in
// production and another only for tests. So the lockfile decides what is in production.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const MODULES = 'node_modules/'
const SCOPE = '@custos/'
/** Licences of packages whose manifest names none but whose LICENSE file does. */
const LICENCES: Readonly<Record<string, string>> = { 'png-js': 'MIT' }

interface Bom {
  readonly metadata: { readonly component: Record<string, unknown> }
  components: Component[]
  dependencies: { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly version: string
  readonly licenses?: readonly unknown[]
}

interface LockedPackage {
  readonly version?: string
  readonly link?: boolean
  readonly dev?: boolean
  readonly optional?: boolean
  readonly devOptional?: boolean
}

/** `name@version` of each production dependency. */
function production(): Set<string> {
  const text = readFileSync(join(ROOT, 'package-lock.json'), 'utf8')
  const { packages }: { packages: Record<string, LockedPackage> } = JSON.parse(text)
  const kept = Object.entries(packages).filter(
    ([path, { link, dev, optional, devOptional }]) =>
      path.includes(MODULES) && !link && !dev && !optional && !devOptional,
  )
  return new Set(
    kept.map(([path, { version }]) => {
      const name = path.slice(path.lastIndexOf(MODULES) + MODULES.length)
      return `${name}@${version}`
    }),
  )
}

function everything(): Bom {
  const options = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only']
  const { stdout, stderr } = spawnSync('npm', options, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (!stdout.startsWith('{')) throw new Error(`npm sbom failed: ${stderr}`)
  return JSON.parse(stdout)
}

const bom = everything()
const packages = production()
bom.components = bom.components
  .map((component) => ({ ...component, name: nameOf(component) }))
  .filter(({ name, version }) => name.startsWith(SCOPE) || packages.has(`${name}@${version}`))
  .map((component) => {
    const licence = LICENCES[component.name]
    return component.licenses || licence === undefined
      ? component
      : { ...component, licenses: [{ license: { id: licence } }] }
  })
const refs = new Set(bom.components.map((component) => component['bom-ref']))
const root = String(bom.metadata.component['bom-ref'])
bom.dependencies = bom.dependencies
  .filter(({ ref }) => ref === root || refs.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) }))
// Otherwise it is the name of the directory.
bom.metadata.component['name'] = 'custos'
console.log(JSON.stringify(bom, null, 2))

/** npm names packages of this repository after their directory. */
function nameOf(component: Component): string {
  const ref = component['bom-ref']
  return ref.startsWith(SCOPE) ? ref.slice(0, ref.lastIndexOf('@')) : component.name
}
