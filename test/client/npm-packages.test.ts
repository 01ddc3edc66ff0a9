// The packages as npm publishes them: packed, installed in an empty project, run and type-checked.

import assert from 'node:assert/strict'
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { transform } from 'esbuild'
import { publint } from 'publint'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'
import { casesOf } from '../../packages/server/src/testing/sweep.ts'

const ROOT = join(import.meta.dirname, '../..')
const UNPACKED_BYTES_MAX = 700_000

interface PublishedManifest {
  readonly private?: boolean
  readonly files?: readonly string[]
  readonly exports?: Readonly<Record<string, string | Entry>>
}

interface Entry {
  readonly types: string
  readonly default: string
}

const manifestOf = (path: string): PublishedManifest & Record<string, unknown> =>
  JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))

/** What is published: every package that is not private. */
const PACKAGES = readdirSync(join(ROOT, 'packages')).filter(
  (name) => manifestOf(join(ROOT, 'packages', name)).private !== true,
)
/** A package is compiled after those it uses: packed before them, it compiles them too. */
const IN_ORDER = ['proof', 'client', 'mcp', 'adapters', 'verify-page']
/** The others have a web page instead of modules. */
const LIBRARIES = PACKAGES.filter((name) => name !== 'verify-page')
/** What an install brings besides: no framework. */
const THIRD_PARTIES = ['@modelcontextprotocol', '@noble', 'typebox', 'zod']

const execute = promisify(execFile)

let folder: string
let service: TestService
/** By package. */
const tarballs = new Map<string, string>()

/** npm with this Node first on the path, as `npm` runs it in the clone. */
function npm(args: readonly string[], cwd: string): string {
  const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`
  return execFileSync('npm', [...args], {
    cwd,
    env: { ...process.env, PATH: path },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

// Packing switches package.json for a moment: it happens in a copy, where no other test reads it.
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'custos-packed-'))
  for (const path of [
    'tsconfig.base.json',
    'scripts/pack',
    ...PACKAGES.map((n) => `packages/${n}`),
  ])
    cpSync(join(ROOT, path), join(folder, path), {
      recursive: true,
      filter: (from) => !/[/\\](dist|node_modules)$/.test(from),
    })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  for (const name of IN_ORDER) {
    const cwd = join(folder, 'packages', name)
    const original = readFileSync(join(cwd, 'package.json'))
    const printed = npm(['pack', '--json', '--pack-destination', folder], cwd)
    // The script of a package may print before.
    const packed = JSON.parse(printed.slice(printed.search(/^[[{]/m)))
    assert.deepEqual(readFileSync(join(cwd, 'package.json')), original)
    const [{ filename, unpackedSize }] = Object.values(packed) as [
      { filename: string; unpackedSize: number },
    ]
    assert.ok(unpackedSize <= UNPACKED_BYTES_MAX, `${name} unpacks to ${unpackedSize} bytes`)
    tarballs.set(name, join(folder, filename))
  }
  mkdirSync(join(folder, 'project'))
  writeFileSync(join(folder, 'project/package.json'), '{ "type": "module", "private": true }\n')
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund']
  npm([...install, ...tarballs.values()], project())
  service = await startTestService()
})

after(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

function project(): string {
  return join(folder, 'project')
}

const installed = (name: string) => join(project(), 'node_modules/@custos', name)

test('everything that can be published is packed, and no framework is installed with it', () => {
  assert.deepEqual(PACKAGES, ['adapters', 'client', 'mcp', 'proof', 'verify-page'])
  assert.deepEqual(IN_ORDER.toSorted(), PACKAGES)
  const found = readdirSync(join(project(), 'node_modules')).filter((name) => name[0] !== '.')
  assert.deepEqual(found.sort(), ['@custos', ...THIRD_PARTIES].sort())
  const page = readFileSync(join(installed('verify-page'), 'dist/verify.html'), 'utf8')
  assert.match(page, /^<!doctype html>/i)
})

test('a package that is packed again has the same bytes', () => {
  const again = join(folder, 'again')
  mkdirSync(again)
  for (const name of casesOf(PACKAGES, 1)) {
    npm(['pack', '--pack-destination', again], join(folder, 'packages', name))
    const first = tarballs.get(name) ?? ''
    assert.ok(readFileSync(first).equals(readFileSync(join(again, basename(first)))), name)
  }
})

test('a packed package has JavaScript, declarations and no sources', () => {
  for (const name of LIBRARIES) {
    const manifest = manifestOf(installed(name))
    const { scripts, devDependencies, sideEffects, engines } = manifest
    assert.deepEqual([scripts, devDependencies, sideEffects], [undefined, undefined, false], name)
    assert.deepEqual(engines, { node: '>=20' })
    const files = readdirSync(installed(name), { recursive: true, encoding: 'utf8' })
    assert.ok(files.includes('LICENSE'))
    assert.deepEqual(
      files.filter((path) => /(?<!\.d)\.ts$|\.test\.|testing|tsconfig/.test(path)),
      [],
    )
    for (const entry of Object.values(manifest.exports ?? {}))
      for (const path of typeof entry === 'string' ? [entry] : [entry.types, entry.default])
        assert.ok(files.includes(path.slice(2)), path)
  }
})

test('every package has the files that its manifest names', () => {
  for (const name of readdirSync(join(ROOT, 'packages'))) {
    const path = join(ROOT, 'packages', name)
    const { files = [] } = manifestOf(path)
    const missing = files.filter((file) => file !== 'dist' && !existsSync(join(path, file)))
    assert.deepEqual(missing, [], name)
  }
})

const PROGRAM = `
import { Custos, isRefusal } from '@custos/client'
import { call, Client } from '@custos/client/core'
import { memoryRetrieve } from '@custos/client/operations'
import { verify } from '@custos/client/verify'
import { verifyEnvelope } from '@custos/proof'

const [url = '', apiKey = ''] = process.argv.slice(2)
const custos = new Custos({ url, apiKey })
const memory = custos.memoryOf({ store: 'default' })
const { ref } = await memory.remember('Ana lives in Porto')
const found = await call(new Client({ url, apiKey }), memoryRetrieve, 'default', { query: 'Porto' })
const { erasure_certificate_id: id = '' } = await memory.forget(ref)
const certificate = await custos.erasure.get(id)
const keys = await custos.gcrumbs.publicKey()
const verdict = await verify(certificate, { keys })
const changed = { type: 'certificate', certificate: { ...certificate, ref: ref + 1 } }
const altered = await verifyEnvelope(changed, { keys: keys.keys })
const refused = await custos.memory.memory('default', 999).catch((error: unknown) =>
  isRefusal(error, 'memory_not_found'),
)
console.log(JSON.stringify([found.memories.length, verdict.valid, altered.valid, refused]))
`

const ARGUMENTS = 'declare const process: { readonly argv: string[] }\n'
const RESOLUTIONS = [
  ['nodenext', 'nodenext'],
  ['bundler', 'esnext'],
] as const

/** Checks a file for each way to resolve modules, in one process: it reads the libraries once. */
async function assertCompiles(
  tsc: string,
  path: string,
  options: { readonly skipLibCheck: boolean },
): Promise<void> {
  const cwd = dirname(path)
  // Without the types of the folders above.
  const base = { noEmit: true, strict: true, target: 'es2022', typeRoots: ['none'], ...options }
  const lib = ['es2022', 'dom', 'dom.iterable']
  const configs = RESOLUTIONS.map(([moduleResolution, module]) => {
    const config = `tsconfig.${moduleResolution}.json`
    const compilerOptions = { ...base, lib, module, moduleResolution }
    writeFileSync(join(cwd, config), JSON.stringify({ compilerOptions, files: [basename(path)] }))
    return config
  })
  const checked = execute(process.execPath, [tsc, '--build', '--force', ...configs], { cwd })
  await checked.catch((error: { stdout: string }) => assert.fail(`${tsc}: ${error.stdout}`))
}

/** In the long form other versions come from npm: what they are named here has been released. */
const OTHER_NODES = casesOf(['22.23.3', '26.10.0'], 0)
const TYPESCRIPTS = ['this', ...casesOf(['5.4.5', '6.0.3'], 0)]

/** A folder with one package of npm. */
function installAlone(name: string, version: string): string {
  const cwd = join(folder, `${name}-${version}`)
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'package.json'), '{ "private": true }\n')
  npm(['install', '--prefer-offline', '--no-audit', '--no-fund', `${name}@${version}`], cwd)
  return join(cwd, 'node_modules', name)
}

/** Each Node of this machine that the packages support: that of the tests, and the system's. */
function nodes(): string[] {
  const found = [process.execPath, '/usr/bin/node', '/usr/local/bin/node']
  const others = OTHER_NODES.map((version) =>
    join(installAlone(`node-${process.platform}-${process.arch}`, version), 'bin/node'),
  )
  return [...found, ...others].filter((path) => {
    const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' })
    return Number(/^v(\d+)/.exec(stdout ?? '')?.[1] ?? 0) >= 20
  })
}

test('installed packages remember, forget and verify under each Node of the machine', async (t) => {
  const mcp = "console.log(typeof (await import('@custos/mcp')).serveOverStdio)"
  const { code } = await transform(`${PROGRAM}${mcp}`, { loader: 'ts', target: 'es2022' })
  writeFileSync(join(project(), 'program.js'), code)
  for (const node of nodes()) {
    const { api_key } = await service.createTenant()
    const args = [join(project(), 'program.js'), service.url, api_key]
    const { stdout } = await execute(node, args, { cwd: project() })
    const { stdout: version } = await execute(node, ['--version'])
    t.diagnostic(`${version.trim()}: ${stdout.trim()}`)
    assert.equal(stdout, '[1,true,false,true]\nfunction\n')
  }
})

/** What the adapters are for, as a project has it beside them. */
const FRAMEWORKS = [
  ...['ai', '@langchain/core', '@langchain/langgraph-checkpoint', '@mastra/core'],
  '@openai/agents-core',
]

/** Uses every adapter once: prints what is remembered through each. */
const ADAPTED = `
import { custosApproval, custosMemory, custosTools } from '@custos/adapters/ai'
import { CustosChatHistory, CustosRetriever } from '@custos/adapters/langchain'
import { CustosStore } from '@custos/adapters/langgraph'
import { CustosMemoryStorage, custosRecall } from '@custos/adapters/mastra'
import { CustosSession } from '@custos/adapters/openai-agents'
import { Custos } from '@custos/client'
import { HumanMessage } from '@langchain/core/messages'
import { generateText, wrapLanguageModel } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'

const [url = '', apiKey = ''] = process.argv.slice(2)
const client = new Custos({ url, apiKey })
const inner = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => ({
    content: [{ type: 'text' as const, text: String(JSON.stringify(prompt).includes('in Porto')) }],
    finishReason: { unified: 'stop' as const, raw: undefined },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 1, text: 1, reasoning: undefined },
    },
    warnings: [],
  }),
})
await client.memory.write('default', { content: 'Ana lives in Porto' })
const model = wrapLanguageModel({ model: inner, middleware: custosMemory({ client }) })
const { text } = await generateText({ model, prompt: 'Where does Ana live?' })
const tools = Object.keys(custosTools({ client })).length
const approval = await custosApproval({ client })({
  toolCall: { toolName: 'look', input: {} },
})

const store = new CustosStore({ client })
await store.put(['users'], 'ana', { city: 'Porto' })
const item = await store.get(['users'], 'ana')

const history = new CustosChatHistory({ client, sessionId: 'ana-1' })
await history.addMessage(new HumanMessage('I like tea'))
const [said] = await history.getMessages()
const found = await new CustosRetriever({ client }).invoke('where does Ana live')

const session = new CustosSession({ client, sessionId: 'ana-2' })
await session.addItems([{ type: 'message', role: 'user', content: 'I like tea' }])

const storage = new CustosMemoryStorage({ client })
const now = new Date()
await storage.saveThread({
  thread: { id: 't1', resourceId: 'ana', title: 'Trip', createdAt: now, updatedAt: now },
})
const thread = await storage.getThreadById({ threadId: 't1' })
const recall = custosRecall({ client }).id

console.log(JSON.stringify([
  text, tools, approval, item?.value['city'], said?.text, found[0]?.pageContent,
  (await session.getItems()).length, thread?.title, recall,
]))
`

test('installed adapters work with their frameworks, also for the compiler', async () => {
  const cwd = join(folder, 'with-frameworks')
  cpSync(project(), cwd, { recursive: true })
  for (const name of FRAMEWORKS) {
    const link = join(cwd, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), link)
  }
  const { code } = await transform(ADAPTED, { loader: 'ts', target: 'es2022' })
  writeFileSync(join(cwd, 'adapted.js'), code)
  const { api_key } = await service.createTenant()
  const args = [join(cwd, 'adapted.js'), service.url, api_key]
  const { stdout } = await execute(process.execPath, args, { cwd })
  assert.deepEqual(JSON.parse(stdout), [
    ...['true', 3, 'not-applicable', 'Porto', 'I like tea', 'Ana lives in Porto', 1, 'Trip'],
    'custos-recall',
  ])

  writeFileSync(join(cwd, 'adapted.ts'), `${ADAPTED}${ARGUMENTS}export {}\n`)
  // Declarations of the frameworks need types of their own neighbours.
  await assertCompiles(tscOf('this'), join(cwd, 'adapted.ts'), { skipLibCheck: true })
})

const tscOf = (version: string): string =>
  version === 'this'
    ? join(ROOT, 'node_modules/typescript/bin/tsc')
    : join(installAlone('typescript', version), 'bin/tsc')

for (const version of TYPESCRIPTS)
  test(`a program with the installed types compiles with ${version} TypeScript`, async () => {
    const path = join(project(), 'program.ts')
    writeFileSync(path, `${PROGRAM}${ARGUMENTS}export {}\n`)
    await assertCompiles(tscOf(version), path, { skipLibCheck: false })
  })

test('publint and Are The Types Wrong find nothing to say', async () => {
  const judged = casesOf(LIBRARIES, 1)
  for (const name of PACKAGES) {
    const { messages } = await publint({ pkgDir: installed(name), strict: true, pack: false })
    assert.deepEqual(messages, [], name)
    if (!judged.includes(name)) continue
    const attw = join(ROOT, 'node_modules/@arethetypeswrong/cli/dist/index.js')
    const args = [attw, `${tarballs.get(name)}`, '--profile', 'esm-only', '--no-definitely-typed']
    const ran = execute(process.execPath, [...args, '--format', 'ascii'], { cwd: folder })
    await ran.catch((error: { stdout: string }) => assert.fail(`${name}: ${error.stdout}`))
  }
})

/** A package of one module, which may use another one. */
function writeSmallPackage(name: string, dependencies: Readonly<Record<string, string>>): string {
  const cwd = join(folder, 'packages', name)
  mkdirSync(join(cwd, 'src'), { recursive: true })
  const exports = { '.': './src/index.ts' }
  const manifest = { name: `@custos/${name}`, type: 'module', exports, dependencies }
  const config = { extends: '../../tsconfig.base.json', include: ['src/**/*.ts'] }
  const uses = Object.keys(dependencies).map((used) => `export { small } from '${used}'\n`)
  writeFileSync(join(cwd, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify(config))
  writeFileSync(join(cwd, 'src/index.ts'), uses.join('') || 'export const small: number = 1\n')
  return cwd
}

test('a package that was left switched is put back by the next step', () => {
  const used = writeSmallPackage('small-one', {})
  const cwd = writeSmallPackage('small-two', { '@custos/small-one': '0.1.0' })
  const script = join(folder, 'scripts/pack/package.ts')
  const run = (step: string) =>
    execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', script, step], {
      cwd,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  const read = () => readFileSync(join(cwd, 'package.json'), 'utf8')
  const original = read()
  run('prepare')
  // What it uses is compiled before it.
  assert.ok(existsSync(join(used, 'dist/index.d.ts')))
  const switched = read()
  assert.notEqual(switched, original)
  run('prepare')
  assert.equal(read(), switched)
  run('restore')
  assert.equal(read(), original)
  run('restore')
  assert.equal(read(), original)
})
