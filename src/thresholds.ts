/**
 * Every number that decides something: a verdict, a moment, or a limit that a user can notice. Texts, `action.yml` and the
 * documentation are rendered from here. Units are in the names.
 */

// Defaults of inputs

/** The input `timeout`. As long as a Deployment has to make progress by default (progressDeadlineSeconds). */
export const defaultTimeoutMs = 10 * 60_000

/** The input `stall-timeout`. Longer than the longest wait of the kubelet between two attempts. */
export const defaultStallTimeoutMs = 5 * 60_000

/** The input `settle-time`. A container that crashes at its start is restarted within this time. */
export const defaultSettleTimeMs = 10_000

/** The default of `milestone-timeouts` for `created`: a misspelt name costs no more than this. */
export const defaultCreatedTimeoutMs = 30_000

/** The input `max-restarts`: a container may wait for another one that starts later. */
export const defaultMaxRestarts = 2

/** The input `log-lines`. */
export const defaultLogLines = 25

/** The longest duration, a week: runners do not wait longer, and timers of Node.js are limited to 24 days. */
export const maxDurationMs = 168 * 3_600_000

// Deaths of containers, and what is missing for them

/** A third death proves a crash loop, but only after this time since the first. */
export const deathsProvenMs = 30_000

/** This time instead while another target still progresses, because the container may wait for that target. */
export const deathsProvenWhileOthersProgressMs = 90_000

/** A missing image is proven by this refusal of the registry: a push may race the first. */
export const notFoundRefusals = 2

/** A refusal for missing authorization is proven by this one: credentials may be replaced during the apply. */
export const unauthorizedRefusals = 3

/** How long a missing Secret or ConfigMap may take to appear: operators create them late. */
export const missingObjectMs = 60_000

/**
 * If the kubelet could not create a container, it retries after 10 to 15 s (backOffPeriod and its jitter, pkg/kubelet).
 */
export const kubeletRetryMs = 20_000

/** A pod that is older than this at the gate's start was not created by the apply that the gate checks. */
export const earlierPodMs = 60_000

/** The longest time between two pulls of an image (MaxContainerBackOff, pkg/kubelet). */
export const maxPullBackOffMs = 300_000

/** An init container or hook that runs longer than this is reported: it may wait for something that is missing. */
export const longStepMs = 30_000

/** A pod older than this at the gate's start may have died before this rollout. */
export const earlierDeathsMs = 10 * 60_000

/** A container that ran for this time has recovered; the kubelet resets its back-off after the same time. */
export const recoveredMs = 10 * 60_000

/** The kubelet's first back-off, unless a node is configured with less. */
export const firstRestartBackOffSeconds = 10

/** The kubelet may write the status this long after the attempt; its events have no such delay. */
export const statusLagMs = 20_000

/** The kubelet's first back-off between pulls, unless a node is configured with less (pkg/kubelet). */
export const firstPullBackOffMs = 10_000

// Pods, nodes and volumes

/** Schedulers and kubelets acknowledge a new pod after about a second. */
export const acknowledgedMs = 10_000

/** After the toleration, the controller still has to delete the pod, and its owner to replace it. */
export const replacedMs = 10_000

/** The node controller marks a lost node after 50 s; nothing else reports a pod of the node that was not ready before. */
export const quietNodeMs = 120_000

/** If nothing is reported about the pods of many nodes, the nodes are hardly the cause. */
export const maxQuietNodes = 5

/** The kubelet doubles the time between two attempts to mount a volume, up to this limit (exponentialbackoff, pkg/util/goroutinemap). */
export const mountRetryMs = 122_000

/** After the grace period the kubelet ends a container, and deletes the pod shortly after. */
export const overdueDeletionMs = 10_000

/**
 * How long a claim must be Lost. If its volume is restored, the controller binds the claim again at its next sync,
 * every 15 s (syncBoundClaim, pkg/controller/volume/persistentvolume).
 */
export const lostClaimMs = 30_000

// Controllers and policies

/**
 * How long after its first refusal, or the gate's start, a policy must deny the pods again. A controller first retries
 * after milliseconds, and a change of the policy may be applied together with the workload.
 */
export const deniedMs = 3_000

/** How often a policy must deny the pods, or the API server find them invalid. */
export const refusedCreations = 2

/** A controller's wait after the first refused attempt to create a pod (DefaultTypedControllerRateLimiter, client-go); it doubles. */
export const firstCreationRetryMs = 5

/** The longest wait of a controller between two attempts to create a pod (DefaultTypedControllerRateLimiter, client-go). */
export const maxCreationRetryMs = 1_000_000

/** What the next attempt may be late by: the controller has other work. */
export const creationRetrySlackMs = 10_000

/** The wait of the Job controller after the first failure (DefaultJobPodFailureBackOff, pkg/controller/job); it doubles. */
export const firstJobBackOffMs = 10_000

/** The longest wait of the Job controller (MaxJobPodFailureBackOff, pkg/controller/job). */
export const maxJobBackOffMs = 10 * 60_000

/**
 * Controllers that have lost their leader report the end of a pod after this time at the latest: a lease lasts 15 s
 * (leaseDuration, k8s.io/component-base/config), and the next leader first lists all objects.
 */
export const leaderChangeMs = 30_000

/** If the deadline had passed before the gate first saw the object, it counts only after this time without progress. */
export const standingDeadlineMs = 10_000

/** How often the controller of HorizontalPodAutoscalers works (`--horizontal-pod-autoscaler-sync-period` of kube-controller-manager). */
export const autoscalerSyncMs = 15_000

/** How long a load balancer may need to move to an address that is requested of it. */
export const addressMovesMs = 120_000

// Custom resources

/** How long a reported failure must persist. */
export const reportedFailureMs = 10_000

/** How long a failure must be unchanged unless the controller has given up: most controllers retry. */
export const unchangedFailureMs = 120_000

/** This time instead while another target still progresses, because the object may need that target. */
export const unchangedFailureWhileOthersProgressMs = 180_000

/** How many settle times a status of unknown meaning must be unchanged: its states may be those of a start. */
export const unclearSettles = 3

/** The interval of an operator whose resource names none. */
export const comparisonIntervalMs = 60_000

/** How long to wait for the first lists of owned objects. Without the permission, they never arrive. */
export const ownedListsMs = 5_000

/**
 * How long a custom resource that reports no failure may take before all objects behind it are watched: one that becomes
 * ready within this time costs at most the watches of its workloads.
 */
export const causeSearchMs = 10_000

// The gate

/** How long the gate continues after the first failure, to show the problems of other targets. */
export const failFastMs = 5_000

/**
 * A deleted object may be created again within this time: `kubectl replace` and hooks delete objects to create them
 * anew.
 */
export const deletedMs = 5_000

/** One apply creates the objects of a selector one after the other, so the first match may not be the only one. */
export const selectorCompleteMs = 5_000

/** After this time without an entry, a heartbeat lists the open targets. */
export const heartbeatMs = 30_000

/** If pods settle in less time, the log does not mention it. */
export const shortestSettlingMs = 2_000

/** If an object is older than this at the gate's start, the apply before the gate did not create it. */
export const oldObjectMs = 60_000

/** Up to this count, the gate logs each repetition of a problem; then only when the count has doubled. */
export const countsInFull = 10

/** A list is this long recent: the first lists of a gate take some time. */
export const recentListMs = 1_000

/** A change is this long recent: a controller writes the status of an object soon after the change of its pod. */
export const recentChangeMs = 250

/** More objects than this are not listed again after a recent change: their list would take long. */
export const manyObjects = 100

/** Time limit for asking the cluster if the inputs already have mistakes, to find further ones. */
export const furtherMistakesMs = 5_000

// The API server

/** After this time without a success, the state of the rollout is unknown. */
export const unknownMs = 2 * 60_000

/** After this time, a server that never answered is a mistake in the kubeconfig. */
export const neverReachedMs = 30_000

/** Withdrawn access ends the gate only after this time: someone may just be replacing a Role. */
export const withdrawnMs = 30_000

/** How often the server must refuse the credentials, unless they cannot be renewed: a token may just be replaced. */
export const credentialRefusals = 2

/** Kinds that are refused within this time are one line of the log. */
export const refusalsMs = 1_000

/** The gate's timeout waits for an answer, but at most this long after the last success of a watch. */
export const outageAtTimeoutMs = 30_000

/** How long the first requests are repeated, unless the gate's timeout is shorter. */
export const maxInitialMs = 30_000

/**
 * If no byte arrives for this time, a small list request tests the server. If it succeeds, the watch is opened again.
 */
export const watchSilenceMs = 30_000

/** The interval of the lists that replace a watch which is forbidden, or fails while lists succeed. */
export const watchForbiddenPollMs = 5_000

/** No page proves that the list ends. The 150,000 pods of the largest cluster that Kubernetes supports are 300 pages. */
export const maxListPages = 1_000

/** Some 30,000 pods of 8 KB, in all pages together: far more than a namespace has, and as much as the memory of a runner holds. */
export const maxListBytes = 256 << 20

/** How many events about an object are kept, the latest: anyone with access may create any number. Clients send at most 25 about an object at once, and one in five minutes (EventSourceObjectSpamFilter, client-go), for each component. */
export const maxEventsOfObject = 300

/** Only a server that is not an API server sends more: a page of 500 objects is far smaller. */
export const maxAnswerBytes = 128 << 20

/**
 * How long each text that may quote a secret waits. An object may arrive later than an event that quotes its secret: they come on different
 * connections.
 */
export const quotedTextMs = 250

/** How long texts wait for the first list of a watch, if it neither arrives nor fails. */
export const maxTextWaitMs = 10_000

// Values of Secrets

/** Shorter values of Secrets, such as `web` and `true`, occur in any text. */
export const minSecretCharacters = 8

/** The same for a value whose name says that it is secret, unless it consists of words. */
export const minNamedSecretCharacters = 6

/** Longer values are files or Helm releases, which logs do not quote. */
export const maxSecretCharacters = 10_000

// Logs of containers

/** How many more lines all containers together may show. The last lines of each container are always shown. */
export const liveLogLines = 5_000

/** How many first lines of each container are shown without delay: enough for a migration. */
export const liveLogHeadLines = 500

/** How much of the first lines is shown without delay. */
export const liveLogHeadBytes = 128 << 10

/** Later lines are collected, and the newest of them are shown at this interval. */
export const liveLogIntervalMs = 10_000

/** How many of the newest lines are shown at each interval, and of the last ones at the end. */
export const liveLogTailLines = 25

/** How many logs are read at the same time: each is a connection to the API server. */
export const liveLogStreams = 20

/** Lines written longer than this before the gate's start are not read, because they belong to earlier rollouts. */
export const logsBeforeStartMs = 10 * 60_000

/** Longer lines are cut. A line with a stack trace usually fits. */
export const logLineBytes = 4_000

// GitHub and outputs

/** The least time between two updates on GitHub. */
export const updateIntervalMs = 15_000

/** Time limit for showing the outcome on GitHub: longer than most secondary rate limits, after which a required check would block merging. */
export const outcomeLimitMs = 90_000

/** The same in a cancelled job: the runner kills it 10 s after its cancellation. */
export const outcomeLimitWhenCancelledMs = 4_000

/** Time limit for all requests. Waits for most secondary rate limits to end. */
export const closeLimitMs = 60_000

/** Later steps may pass outputs as environment variables or arguments, whose size the operating system limits. */
export const failedResourcesBytes = 64 * 1024
