// The one version number of the service, read from its package.

import manifest from '../../../package.json' with { type: 'json' }

export const VERSION: string = manifest.version
