const needed = { major: 22, minor: 19 };
export async function startOnCurrentNode(start, isAction = false) {
    const tooOld = nodeVersionError(process.versions.node, isAction ? `${process.platform}-${process.arch}` : undefined);
    if (tooOld === undefined)
        return start();
    if (isAction)
        console.log(`::error title=Rollout Gate cannot start::${tooOld}`);
    else
        console.error(tooOld);
    process.exitCode = 1;
}
export function nodeVersionError(version, runner) {
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major > needed.major || (major === needed.major && minor >= needed.minor))
        return undefined;
    return `Rollout Gate needs Node ${needed.major}.${needed.minor} or newer (this is v${version}). ${updateHint(runner)}`;
}
function updateHint(runner) {
    if (runner === undefined)
        return 'Update Node.';
    if (runner === 'linux-arm')
        return 'The runner has no Node 24 for Linux on 32-bit ARM: use a runner on ARM64 or x64.';
    return 'Update the runner to 2.327.1 or newer, which contains Node 24. With act, use an image that contains it.';
}
