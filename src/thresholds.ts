/**
 * Every number that decides something: a verdict, a moment, or a limit that a user can notice. Texts, `action.yml` and the
 * documentation are rendered from here. Units are in the names.
 */

// Defaults of inputs

/** The input `timeout`. As long as a Deployment has to make progress by default (progressDeadlineSeconds). */
export const defaultTimeoutMs = 10 * 60_000
/** The input `stall-timeout`. As long as the longest wait of the kubelet between two attempts (MaxContainerBackOff). */
export const defaultStallTimeoutMs = 5 * 60_000
/** The input `settle-time`. Most containers that crash at their start have crashed by then. */
export const defaultSettleTimeMs = 10_000
/** The default of `milestone-timeouts` for `created`: if a name is misspelt, the gate fails after this time. */
export const defaultCreatedTimeoutMs = 30_000
/** The input `max-restarts`: a container may wait for another one that starts later. */
export const defaultMaxRestarts = 2
/** The input `log-lines`: enough for a stack trace with its cause, and few enough for a screen. */
export const defaultLogLines = 25
/** The longest duration, a week: runners do not wait longer, and timers of Node.js are limited to 24 days. */
export const maxDurationMs = 168 * 3_600_000
/** The largest number that an input accepts: a larger one is a typing error. */
export const maxNumber = 1_000
/** The default of `--timeout` in a line of `http-checks`: five times the default timeout of a probe. */
export const defaultRequestTimeoutMs = 5_000

// After ready: requests, hold

/** The interval of requests to a pod until it has answered, and during the hold: the default period of a probe. */
export const requestIntervalMs = 10_000
/** How many wrong or missing answers in a row prove that a pod does not answer: a probe's default failureThreshold. */
export const answersProven = 3
/** The least time between the first and the last of these answers: a cache or a connection pool may need that long. */
export const answersProvenMs = 30_000
/** How much of the body of an answer is kept: its first line most often contains what is wrong. */
export const answerBodyCharacters = 200
/** How many right and how many wrong answers to a line of `http-checks` are shown, besides their counts. */
export const maxRecordedAnswers = 20
/** How long the gate waits, at the end of the hold, for the answers to the last requests. */
export const lastAnswerMs = 30_000
/** How long a target without pods may be not ready during the hold: Flux reports that while it reconciles. */
export const fallenMs = 10_000

// Deaths of containers, and missing objects and images

/** The least time from a container's first death to the third: it may wait for an object of the same apply. */
export const deathsProvenMs = 30_000
/** `deathsProvenMs` while another target still progresses: the container may wait for that target. */
export const deathsProvenWhileOthersProgressMs = 90_000
/** Exit code 126 or 127 after this time is of the program itself: a shell that finds no program ends at once. */
export const shellMs = 2_000
/** The number of refusals of a registry that prove that an image is missing: it may be pushed after the first. */
export const notFoundRefusals = 2
/** The number of refusals that prove that a pull is not authorized: credentials may be replaced during the apply. */
export const unauthorizedRefusals = 3
/** How long a missing Secret or ConfigMap may take to appear: operators create them late. */
export const missingObjectMs = 60_000
/** After this time, the kubelet has tried again to create a container: it retries after 10 to 15 s (pkg/kubelet). */
export const kubeletRetryMs = 20_000
/** A fact that is older than this at the gate's start predates the apply: most gates start seconds after the apply. */
export const maxApplyAgeMs = 60_000
/** The log contains no failing probe of a container that runs for less than this: the server may still start. */
export const startTimeMs = 10_000
/** An init container or hook that runs longer than this is reported: it may wait for something that is missing. */
export const longStepMs = 30_000
/** A pod older than this at the gate's start may have died before this rollout. */
export const earlierDeathsMs = 10 * 60_000
/** A container that ran for this time has recovered; the kubelet resets its back-off after the same time. */
export const recoveredMs = 10 * 60_000
/** The kubelet may write the status this long after the attempt; its events have no such delay. */
export const statusLagMs = 20_000
/** The kubelet's first back-off between pulls, unless a node is configured with less (pkg/kubelet). */
export const firstPullBackOffMs = 10_000

// Pods, nodes and volumes

/** The time after which a pod that no scheduler or kubelet has acknowledged has a problem: most need about a second. */
export const acknowledgedMs = 10_000
/** How long a pod on a lost node may stay after its toleration: a controller deletes it, and its owner replaces it. */
export const replacedMs = 10_000
/** A node is read if nothing reports its pod for this time. The node controller marks a lost node after 50 s. */
export const quietNodeMs = 120_000
/** How many nodes are read because nothing reports their pods: more nodes are hardly the cause. */
export const maxQuietNodes = 5
/** The kubelet's longest wait between two attempts to mount a volume (exponentialbackoff, pkg/util/goroutinemap). */
export const mountRetryMs = 122_000
/** How long after its grace period a pod may still exist: the kubelet ends its containers, and deletes it shortly after. */
export const overdueDeletionMs = 10_000
/** How long a claim must be Lost: its controller binds it to a restored volume within 15 s (syncBoundClaim). */
export const lostClaimMs = 30_000

// Controllers and policies

/** How long before an operator's report of a failure the cause may have ended: the operator may remove what failed. */
export const removedCauseMs = 60_000
/** How long after its first refusal a policy must deny pods again: its own change may come with the workload's. */
export const deniedMs = 3_000
/** How often a policy must deny the pods, or the API server find them invalid. */
export const refusedCreations = 2
/** A controller's wait before it tries again to create a pod (DefaultTypedControllerRateLimiter); it doubles. */
export const firstCreationRetryMs = 5
/** The longest wait of a controller between two attempts to create a pod (DefaultTypedControllerRateLimiter, client-go). */
export const maxCreationRetryMs = 1_000_000
/** How late a controller's next attempt to create a pod may be: the controller has other work. */
export const creationRetrySlackMs = 10_000
/** The wait of the Job controller after the first failure (DefaultJobPodFailureBackOff, pkg/controller/job); it doubles. */
export const firstJobBackOffMs = 10_000
/** The longest wait of the Job controller (MaxJobPodFailureBackOff, pkg/controller/job). */
export const maxJobBackOffMs = 10 * 60_000
/** Controllers without a leader report the end of a pod within this time: a lease lasts 15 s, then all is listed. */
export const leaderChangeMs = 30_000
/** A ProgressDeadlineExceeded older than the gate counts after this time without progress: an undo leaves it. */
export const standingDeadlineMs = 10_000
/** How often the HPA controller works (`--horizontal-pod-autoscaler-sync-period` of kube-controller-manager). */
export const autoscalerSyncMs = 15_000
/** How long a load balancer may need to move to an address that is requested of it. */
export const addressMovesMs = 120_000

// Custom resources

/** How long a reported failure must persist: controllers also report one for the moment between two attempts. */
export const reportedFailureMs = 10_000
/** How many settle times a status of unknown meaning must stay unchanged: before, the object may still be starting. */
export const unclearSettles = 3
/** The interval at which an operator compares the object that its resource follows, if the resource names none. */
export const comparisonIntervalMs = 60_000
/** How long to wait for the first lists of owned objects. Without the permission, they never arrive. */
export const ownedListsMs = 5_000
/** How long a custom resource may report no failure before all kinds that it owns are watched: each is a watch. */
export const causeSearchMs = 10_000
/** How many causes of a custom resource are reported: each is one line of the log and one section of the summary. */
export const maxCauses = 5
/** The maximum number of objects that are watched by name for one custom resource: each is a watch of its own. */
export const maxApplied = 50

// The gate

/** How long the gate continues after the first failure, to show the problems of other targets. */
export const failFastMs = 5_000
/** How long a deleted object may take to be created again: `kubectl replace` and hooks delete and create objects. */
export const deletedMs = 5_000
/** How long the gate waits for further matches of a selector: one apply creates its objects one after the other. */
export const selectorCompleteMs = 5_000
/** After this time without an entry, a heartbeat lists the open targets: a log that is silent for longer looks stuck. */
export const heartbeatMs = 30_000
/** If pods settle in less time, the log does not mention it. */
export const shortestSettlingMs = 2_000
/** A version written within this time before the gate is the gated change. Events of a pod are kept for the same time. */
export const recentVersionMs = 3_600_000
/** Changes with a longer pause between them belong to different deployments. */
export const deploymentPauseMs = 60_000
/** The timeline begins with a change that is at least this long before the gate: elapsed times are whole seconds. */
export const shownBeforeMs = 1_000
/** Up to this count, the gate logs each repetition of a problem; then only when the count has doubled. */
export const countsInFull = 10
/** For this time, a list counts as a recent answer of its watch: the first lists of a gate take some time. */
export const recentListMs = 1_000
/** For this time, a change counts as a recent answer: a controller writes a status soon after the change of a pod. */
export const recentChangeMs = 250
/** Watches with more objects than this are not listed again after a recent change: their lists take long. */
export const manyObjects = 100
/** Time limit for requests to the cluster that only serve to find further mistakes in the inputs. */
export const furtherMistakesMs = 5_000
/** How many targets a heartbeat names: it is one line. */
export const heartbeatTargets = 5
/** Maximum number of wordings of one problem that are logged: a text that changes with each event would fill the log. */
export const maxWordings = 5

// The API server and its watches

/** After this time without a success, the state of the rollout is unknown: a single API server restarts in less. */
export const unknownMs = 2 * 60_000
/** After this time, a server that never answered is a mistake in the kubeconfig. */
export const neverReachedMs = 30_000
/** Withdrawn access ends the gate only after this time: a Role may be about to be replaced. */
export const withdrawnMs = 30_000
/** How often the server must refuse credentials that can be renewed: a token may be about to be replaced. */
export const credentialRefusals = 2
/** In an outage, the gate's timeout is delayed until this long (at most half of the timeout) after the last success. */
export const outageAtTimeoutMs = 30_000
/** How long the first requests are repeated, unless the gate's timeout is shorter. */
export const maxInitialMs = 30_000
/** The wait before the first requests are repeated; it doubles. */
export const firstInitialRetryMs = 200
/** The longest wait before the first requests are repeated. */
export const maxInitialRetryMs = 3_000
/** If no byte arrives for this time, a small list tests the server; then the watch is opened again. */
export const watchSilenceMs = 30_000
/** The shortest time that the server is asked to keep a watch open. With the spread, a watch ends within a minute. */
export const minWatchSeconds = 45
/** Watches end at random times in this interval after `minWatchSeconds`, so that they are not all opened again at once. */
export const watchSpreadSeconds = 16
/** The interval of the lists that replace a watch which is forbidden, or fails while lists succeed. */
export const watchForbiddenPollMs = 5_000
/** The maximum number of pages of a list. The 150,000 pods of the largest supported cluster are 300 pages. */
export const maxListPages = 1_000
/** The maximum size of a list: some 30,000 pods of 8 KB, far more than a namespace has. */
export const maxListBytes = 256 << 20
/** How many of the latest events about an object are kept. A component sends 25, then 1 in 5 minutes (client-go). */
export const maxEventsOfObject = 300
/** The maximum size of an answer: a page of 500 objects is far smaller, so a longer answer is not from an API server. */
export const maxAnswerBytes = 128 << 20
/** How long texts wait for redaction if the first list of a watch neither arrives nor fails. */
export const maxTextWaitMs = 10_000
/** If the process has not run for this time, it or its machine was suspended. */
export const suspendedMs = 10_000
/** Minimum time between two discoveries. An unknown kind starts one, because its CRD may be newly installed. */
export const rediscoveryMs = 5_000
/** Time limit of a credential plugin: one that takes longer probably waits for an interactive login. */
export const credentialPluginMs = 60_000
/** How long first lists may delay a watch: a list of many pages must not delay the other watches longer. */
export const maxFirstListDelayMs = 1_000
/** The longest line of a watch: one object of at most 1.5 MiB in etcd, plus the fields that the API server adds. */
export const maxWatchLineBytes = 16 << 20
/** The maximum size of an error of the API server. It is a Status, which is far smaller. */
export const maxErrorBytes = 64 << 10
/** The maximum size of a message of a forwarded port. Container runtimes copy 32 KiB at a time (Go, `io.Copy`). */
export const maxMessageBytes = 1 << 20
/** How many requests to pods are sent at a time: requests to 1,000 pods must not disturb the API server. */
export const maxConcurrentQuestions = 16
/** The wait before the next request to a pod after the API server has refused to forward one. */
export const questionRetryMs = 5_000
/** How much of a body is searched for the text of `--expect-body`. */
export const maxCheckedBodyBytes = 64 << 10
/** The default time limit of a request. */
export const requestMs = 30_000
/** Maximum time without a byte during a list. */
export const listSilenceMs = 30_000
/** Maximum time without a byte during a refresh; also the time limit for testing the server and for opening a watch. */
export const answerTimeoutMs = 10_000
/** The shortest time limit of a refresh. The limit is twice the time of the last complete list, but at least this. */
export const minRefreshMs = 10_000
/** The longest time limit of a refresh. */
export const maxRefreshMs = 2 * 60_000
/** The maximum time that is taken for the duration of a list that a refresh interrupted: it may never end. */
export const maxPartialListMs = 15_000
/** If the server does not end a watch after `timeoutSeconds`, the reflector ends it this much later. */
export const watchOverdueMs = 10_000
/** If a watch ends before this time without an event, the reflector waits: many new watches would be a load. */
export const healthyWatchMs = 1_000
/** After this number of lists, a watch that is forbidden or fails is tried again; after the first failures, sooner. */
export const pollsBetweenWatches = 12
/** A watch may fail or end at once this often in a row before lists replace it. */
export const failedWatchesBeforePolls = 3
/** The wait before the first retry of a watch or list; it doubles. */
export const minWatchBackOffMs = 100
/** The longest wait before a retry of a watch or list. */
export const maxWatchBackOffMs = 5_000
/** The longest wait that the server may request (Retry-After). */
export const maxRetryAfterMs = 30_000
/** The wait before a request is repeated that the server refused with 401 or 405: it seldom succeeds later. */
export const refusedBackOffMs = 20_000
/** The wait before a forbidden request is repeated: a Role may be deleted and created again within seconds. */
export const forbiddenBackOffMs = 7_000
/** The wait before the next request for a kind that does not exist: its CRD may be installed by the apply. */
export const missingBackOffMs = 5_000
/** How many watches one kind has in a namespace: more become one watch. Each is a connection of its own. */
export const maxWatchesOfKind = 8
/** Maximum number of watches whose permissions are checked: each check sends a request. */
export const maxCheckedRequests = 60

// Values of Secrets

/** Values of Secrets with fewer characters are not redacted in other text: `web` and `true` occur in any text. */
export const minSecretCharacters = 8
/** `minSecretCharacters` for a value whose name is that of a secret, such as `password`; not for words. */
export const minNamedSecretCharacters = 6
/** The longest value that is redacted in other text: longer values are files or Helm releases, which no log quotes. */
export const maxSecretCharacters = 10_000
/** How long the gate waits, at its end, for first lists that texts need for their redaction. */
export const textFinishMs = 2_000
/** `textFinishMs` in a cancelled job, which the runner kills 10 s after its cancellation. */
export const textFinishWhenCancelledMs = 500
/** The minimum length of a string that is masked: shorter ones would make the log unreadable. */
export const minMaskedCharacters = 4

// Logs of containers, and evidence

/** How many more lines all containers together may show. The last lines of each container are always shown. */
export const liveLogLines = 5_000
/** How many first lines of each container are shown without delay: enough for a migration. */
export const liveLogHeadLines = 500
/** How many bytes of the first lines are shown without delay. */
export const liveLogHeadBytes = 128 << 10
/** After the first lines of a live log, the newest lines are shown at this interval. */
export const liveLogIntervalMs = 10_000
/** How many of the newest lines are shown at each interval and at the end. */
export const liveLogTailLines = 25
/** How many logs are read at the same time: each is a connection to the API server. */
export const liveLogStreams = 20
/** The maximum length of a line of a log: a longer one is cut. A line with a stack trace usually fits. */
export const logLineBytes = 4_000
/** The maximum size of the last log lines of a container that are kept as evidence. */
export const maxTailBytes = 64 << 10
/** Time limit for reading the last lines of a log. */
export const logReadMs = 10_000
/** The kubelet cuts off the *end* of the tail at this limit, so the limit must be larger than any tail. */
export const maxLogAnswerBytes = 4 << 20
/** A stream that is silent for this time is opened again: the log file may have been rotated. No line is lost. */
export const logSilenceMs = 60_000
/** The wait before a broken stream of a log is opened again; it doubles. */
export const firstLogRetryMs = 500
/** The longest wait before a broken stream of a log is opened again. */
export const maxLogRetryMs = 10_000
/** When this number of attempts in a row has failed, the failure is reported. Fewer are only retried. */
export const reportedLogAttempts = 3
/** How long a verdict waits for the last lines; less in a cancelled job, which has little time left. */
export const lastLogLinesMs = 1_000
/** `lastLogLinesMs` in a cancelled job, which the runner kills 10 s after its cancellation. */
export const lastLogLinesWhenCancelledMs = 300
/** The maximum number of containers whose logs are read as evidence: enough if hundreds of targets fail. */
export const maxEvidenceContainers = 24
/** The maximum number of nodes whose states are read as evidence: enough if hundreds of targets fail. */
export const maxEvidenceNodes = 8
/** The maximum number of containers of one target whose logs are read as evidence. */
export const maxContainersOfTarget = 3
/** How many events of a target are shown: more would hide the cause. */
export const maxEvidenceEvents = 20
/** How long a single check (`why`) waits for the first lists: a server that answers needs less than a second. */
export const singleCheckMs = 5_000
/** How long the gate waits, at its end, for the evidence. */
export const evidenceFinishMs = 5_000
/** `evidenceFinishMs` in a cancelled job, which the runner kills 10 s after its cancellation. */
export const evidenceFinishWhenCancelledMs = 1_500
/** Events and lines of logs from longer before the gate's start are not shown, because they belong to earlier rollouts. */
export const shownHistoryMs = 10 * 60_000
/** How many fields a warning lists that differ from the manifest. */
export const maxDifferences = 5
/** How many fields that differ from the manifest the message names if a change did not arrive. */
export const maxOpenFields = 3

// GitHub and outputs

/** The least time between two updates on GitHub. */
export const updateIntervalMs = 15_000
/** Time limit for showing the outcome on GitHub: longer than most secondary rate limits. */
export const outcomeLimitMs = 90_000
/** `outcomeLimitMs` in a cancelled job, which the runner kills 10 s after its cancellation. */
export const outcomeLimitWhenCancelledMs = 4_000
/** Time limit for closing what a killed action left open on GitHub: longer than most secondary rate limits. */
export const closeLimitMs = 60_000
/** The maximum size of an output with a list: an operating system limits the size of an environment variable. */
export const failedResourcesBytes = 64 * 1024
/** The minimum duration of a gate for which the summary contains a diagram. */
export const shortestDiagramMs = 2_000
/** The details of a target show no shorter waits. */
export const shortestWaitMs = 100
/** How many annotations a gate writes: GitHub shows ten annotations of a step; two are left for the step itself. */
export const maxAnnotations = 8
/** The size of the job summary: just below the 1 MiB that GitHub accepts for one step. */
export const maxSummaryBytes = 1_040_000
/** How long the post step waits for the end of the action, which needs some 6 s after a signal. */
export const actionEndMs = 8_000
/** Time limit of an update on GitHub: shorter than the update interval, so updates never overlap. */
export const updateTimeoutMs = 10_000
/** Time limit of one attempt to show the outcome. A comment may need several requests. */
export const outcomeTimeoutMs = 30_000
/** The wait before an update on GitHub is tried again; it doubles. */
export const firstUpdateRetryMs = 1_000
/** How many refusals show that the token lacks the permission: GitHub sometimes refuses a good token for a moment. */
export const maxGithubRefusals = 3
/** How many problems the details of a target contain. */
export const maxShownProblems = 5
/** How many changes of the template the details of a target contain. */
export const maxShownChanges = 20
/** How many lines of a log the summary shows before and after the one that looks like the error: context and stack. */
export const linesBeforeError = 3
export const linesAfterError = 6
/** How many last lines of evidence about a target the log and the summary contain. */
export const maxEvidenceLines = 200
/** How many lines of the timeline the summary contains: the first and the last ones. */
export const maxTimelineLines = 2_000
/** How many targets that are not ready the table of the summary contains. */
export const maxRows = 500
/** How many targets that are not ready have details in the summary. */
export const maxDetails = 50
/** How many rows the summary shows: more are folded, which keeps the overview short. */
export const unfoldedRows = 15
/** How many details the summary shows: more are folded, and targets in progress then have none. */
export const unfoldedDetails = 10

// Inputs and files

/** The largest report that is merged: many times that of a gate of a thousand failed targets. */
export const maxReportBytes = 64 * 1024 * 1024
/** How many reports are merged: more gates than any summary can show. */
export const maxReports = 200
/** The most entries of lists that nested macros of CEL may read. Two macros over 400 conditions read 160,000. */
export const expressionSteps = 200_000
/** Time limit of an expression that may be slow: one with many steps, or with a pattern. */
export const expressionMs = 1_000
/** The largest manifest: larger than any object (1.5 MiB). A YAML syntax tree needs 70 times the memory of its text. */
export const maxManifestBytes = 8 * 1024 * 1024
/** How many manifests are read: more than any apply has. */
export const maxManifestFiles = 5_000
/** How many objects references or manifests may name: more than in any apply. Each needs a watch. */
export const maxNamedObjects = 5_000
/** After this many server errors, a kind of a Helm release is skipped: its conversion webhook may be down. */
export const maxKindErrors = 3
/** Tolerance between the start of a Helm revision and a change of an object: both times are whole seconds. */
export const releaseClockMs = 2_000
/** How long Helm may take from the start of a revision to a workload or hook of it: twice its default `--timeout`. */
export const hookLeadMs = 600_000
/** Kinds of a Helm release that are listed at the same time: few enough for the server's API priority and fairness. */
export const releaseListsAtOnce = 8
/** How many lines `http-checks` may have: each asks a pod every few seconds. */
export const maxRequestLines = 100
/** How long a revision may take to arrive (`--revision`) by default: Argo CD and Flux look for it every few minutes. */
export const awaitRevisionMs = 600_000
/** How often Argo CD looks for a new revision by default: `timeout.reconciliation` with its jitter. */
export const argoPollMs = 180_000
/** How many objects that an operator has deployed become targets: more than most applications have. Each needs a watch. */
export const maxDeployed = 500
/** The interval of the lists until a selector has its first match. */
export const selectorPollMs = 1_000
/** Time limit of a git command: most need about 5 ms. */
export const gitMs = 5_000
/** How many commits before and after an awaited revision are read from the checkout; a recording contains them. */
export const maxCommitsAround = 200
/** The longest time from the start of a recording to an event: GitHub ends a workflow run after 35 days. */
export const maxRecordedMs = 35 * 86_400_000
/** The replay cancels a gate that is open this long after its longest timeout: nothing else would end the gate. */
export const replayCancelMs = 3_600_000
/** The longest line of a recording: a short compressed file may contain an endless line. */
export const maxRecordedLineCharacters = 16 << 20
/** How many lines a recording may have: a gate of a week on a large cluster writes far fewer. */
export const maxRecordedLines = 1_000_000
/** The longest recording, uncompressed. */
export const maxRecordingCharacters = 1 << 30
