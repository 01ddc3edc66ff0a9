// Environments of Python for the packages that a test installs.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const INSTALL = ['install', '--quiet', '--disable-pip-version-check', '--no-compile']
const INSTALL_MS = 480_000

export interface PythonEnvironment {
  /** The program. */
  readonly python: string
  install(...packages: string[]): Promise<void>
}

/**
 * Makes an environment in the folder. pip of `program` installs into it, where it can: pip of its
 * own takes longer to come than most packages.
 */
export async function makeEnvironment(
  folder: string,
  program = 'python3',
): Promise<PythonEnvironment> {
  await execute(program, ['-m', 'venv', '--without-pip', folder])
  const python = join(folder, 'bin/python')
  const outside = ['-m', 'pip', '--python', python]
  // Since pip 22.3.
  const isAble = await execute(program, [...outside, '--version']).then(
    () => true,
    () => false,
  )
  if (!isAble) await execute(python, ['-m', 'ensurepip'])
  const pip = isAble ? [program, ...outside] : [python, '-m', 'pip']
  const [command = '', ...words] = pip
  return {
    python,
    async install(...packages) {
      await execute(command, [...words, ...INSTALL, ...packages], { timeout: INSTALL_MS })
    },
  }
}
