// SPDX-License-Identifier: MIT
// The views, in their order on the page: a line each.

import { Resources, Tasks } from './control';
import { CriticalFlow } from './criticalflow';
import { Calls } from './calls';
import { Declared } from './declared';
import { Events } from './events';
import { Flames } from './flames';
import { Frequency } from './frequency';
import { Io } from './io';
import { Latency } from './latency';
import { hasCalls } from './model';
import { View } from './page';
import { Requests } from './requests';
import { Usage } from './usage';
import { Why } from './why';

export const views: View[] = [
    { name: 'tasks', title: 'Control flow', make: page => new Tasks(page) },
    { name: 'cpus', title: 'Resources', make: page => new Resources(page) },
    { name: 'states', title: 'Declared states', make: page => new Declared(page), isFor: trace => trace.groups.length > 0 },
    { name: 'calls', title: 'Calls', make: page => new Calls(page), isFor: hasCalls },
    { name: 'flames', title: 'Flame graph', make: page => new Flames(page), isFor: hasCalls },
    { name: 'flow', title: 'Critical flow', make: page => new CriticalFlow(page) },
    { name: 'usage', title: 'CPU usage', make: page => new Usage(page) },
    { name: 'io', title: 'Disk and network use', make: page => new Io(page) },
    { name: 'freq', title: 'CPU frequency', make: page => new Frequency(page) },
    { name: 'latency', title: 'Latency', make: page => new Latency(page) },
    { name: 'events', title: 'Events', make: page => new Events(page) },
    { name: 'requests', title: 'Requests', make: page => new Requests(page) },
    { name: 'why', title: 'Why', make: page => new Why(page) },
];
