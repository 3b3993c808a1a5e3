/*
 * The functions of FMI 2.0 for @NAME@: co-simulation and model exchange.
 *
 * Variables are doubles with these references: 0 is the time, then the state, the outputs and the parameters follow in
 * their order.
 */

#include <stddef.h>
#include <string.h>

#if defined(_WIN32)
#define FMI2_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define FMI2_EXPORT __attribute__((visibility("default")))
#else
#define FMI2_EXPORT
#endif

typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef char fmi2Byte;
typedef const char *fmi2String;
typedef enum {fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending} fmi2Status;
typedef enum {fmi2ModelExchange, fmi2CoSimulation} fmi2Type;
typedef enum {fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated} fmi2StatusKind;

typedef struct {
    void (*logger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

typedef struct {
    fmi2Boolean newDiscreteStatesNeeded;
    fmi2Boolean terminateSimulation;
    fmi2Boolean nominalsOfContinuousStatesChanged;
    fmi2Boolean valuesOfContinuousStatesChanged;
    fmi2Boolean nextEventTimeDefined;
    fmi2Real nextEventTime;
} fmi2EventInfo;

enum {
    FIRST_STATE = 1,
    FIRST_OUTPUT = FIRST_STATE + @NAME@_STATES,
    FIRST_PARAMETER = FIRST_OUTPUT + @NAME@_OUTPUTS,
    VARIABLES = FIRST_PARAMETER + @NAME@_PARAMETERS,
    MOST_STEPS = @MOST_INTERNAL_STEPS@
};

/* One instance. The last element of p is not used; without parameters there would be none. */
typedef struct {
    fmi2CallbackFunctions callbacks;
    char name[64];
    double t, y[@NAME@_STATES], p[@NAME@_PARAMETERS + 1], out[@NAME@_OUTPUTS];
    double atol[@NAME@_STATES], rtol, step;
    int outputs_known, initialised, drifted;
} Instance;

static fmi2Status report(const Instance *self, fmi2Status status, const char *message)
{
    if (self->callbacks.logger) {
        self->callbacks.logger(self->callbacks.componentEnvironment, self->name, status,
            status == fmi2Discard ? "logStatusDiscard" : "logStatusError", message);
    }
    return status;
}

static void reset(Instance *self)
{
    @NAME@_start(&self->t, self->y, self->p);
    self->rtol = @RTOL@;
    self->step = 0.0;
    self->outputs_known = self->initialised = self->drifted = 0;
}

/* Inputs are the parameters that may change while the model runs. */
static int is_input(fmi2ValueReference reference)
{
    static const char inputs[] = {@IS_INPUT@0};
    return reference >= FIRST_PARAMETER && inputs[reference - FIRST_PARAMETER];
}

static fmi2Status refuse(fmi2Component c, const char *kind)
{
    return report(c, fmi2Error, kind);
}

/* ---- creation and initialisation ---- */

FMI2_EXPORT const char *fmi2GetTypesPlatform(void)
{
    return "default";
}

FMI2_EXPORT const char *fmi2GetVersion(void)
{
    return "2.0";
}

FMI2_EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t count, const fmi2String kinds[])
{
    (void)c;
    (void)on;
    (void)count;
    (void)kinds;
    return fmi2OK;
}

FMI2_EXPORT fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
    const fmi2CallbackFunctions *callbacks, fmi2Boolean visible, fmi2Boolean logging)
{
    Instance *self;
    (void)type;
    (void)resources;
    (void)visible;
    (void)logging;
    if (!callbacks || !callbacks->allocateMemory || !callbacks->freeMemory || !guid || strcmp(guid, "@GUID@") != 0) {
        return NULL;
    }
    self = callbacks->allocateMemory(1, sizeof(Instance));
    if (!self) {
        return NULL;
    }
    memset(self, 0, sizeof(Instance));
    self->callbacks = *callbacks;
    strncpy(self->name, name ? name : "", sizeof(self->name) - 1);
    reset(self);
    return self;
}

FMI2_EXPORT void fmi2FreeInstance(fmi2Component c)
{
    if (c) {
        ((Instance *)c)->callbacks.freeMemory(c);
    }
}

FMI2_EXPORT fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean tolerance_given, fmi2Real tolerance,
    fmi2Real start, fmi2Boolean stop_given, fmi2Real stop)
{
    Instance *self = c;
    (void)stop_given;
    (void)stop;
    if (tolerance_given && !(tolerance >= @LEAST_RTOL@ && tolerance < 1.0)) {
        return report(self, fmi2Error, "the tolerance must be at least @LEAST_RTOL@ and less than one");
    }
    self->t = start;
    self->rtol = tolerance_given ? tolerance : @RTOL@;
    self->outputs_known = 0;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    Instance *self = c;
    double qdd[@NAME@_COORDINATES];
    int i;
    /* sets the scales of the state, by which the absolute tolerances are chosen */
    if (!@NAME@_check(self->y, self->t, self->p, self->atol)@ALLOWED@) {
        return report(self, fmi2Error, "the start values must satisfy the constraints, and all terms must be finite");
    }
    if (!@NAME@_acceleration(self->y, self->t, self->p, qdd)) {
        return report(self, fmi2Error, "the equations must be solvable at the start values, away from singular positions");
    }
    for (i = 0; i < @NAME@_STATES; i++) {
        self->atol[i] *= @ATOL_RATIO@*self->rtol;
    }
    self->initialised = 1;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2Terminate(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2Reset(fmi2Component c)
{
    reset(c);
    return fmi2OK;
}

/* ---- values of variables ---- */

FMI2_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference references[], size_t count,
    fmi2Real values[])
{
    Instance *self = c;
    size_t i;
    for (i = 0; i < count; i++) {
        const fmi2ValueReference reference = references[i];
        if (reference >= VARIABLES) {
            return report(self, fmi2Error, "a variable must exist; there is none of this reference");
        }
        if (reference == 0) {
            values[i] = self->t;
        } else if (reference < FIRST_OUTPUT) {
            values[i] = self->y[reference - FIRST_STATE];
        } else if (reference >= FIRST_PARAMETER) {
            values[i] = self->p[reference - FIRST_PARAMETER];
        } else {
            if (!self->outputs_known && !@NAME@_outputs(self->y, self->t, self->p, self->out)) {
                return report(self, fmi2Discard, "the equations must be solvable; at this state they are not");
            }
            self->outputs_known = 1;
            values[i] = self->out[reference - FIRST_OUTPUT];
        }
    }
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference references[], size_t count,
    const fmi2Real values[])
{
    Instance *self = c;
    size_t i;
    for (i = 0; i < count; i++) {
        const fmi2ValueReference reference = references[i];
        const int is_state = reference >= FIRST_STATE && reference < FIRST_OUTPUT;
        if (!is_state && !(reference >= FIRST_PARAMETER && reference < VARIABLES)) {
            return report(self, fmi2Error, "a variable that is set must be a state, a parameter or an input");
        }
        if (self->initialised && !is_input(reference)) {
            return report(self, fmi2Error, "only inputs may be set after initialisation");
        }
        if (is_state) {
            self->y[reference - FIRST_STATE] = values[i];
        } else {
            self->p[reference - FIRST_PARAMETER] = values[i];
        }
    }
    self->outputs_known = 0;
    return fmi2OK;
}

#define NO_VARIABLES(Type, argument) \
    FMI2_EXPORT fmi2Status fmi2Get##Type(fmi2Component c, const fmi2ValueReference references[], size_t count, \
        fmi2##Type values[]) \
    { \
        (void)references; \
        (void)values; \
        return count ? refuse(c, "all variables are real; there are no others") : fmi2OK; \
    } \
    FMI2_EXPORT fmi2Status fmi2Set##Type(fmi2Component c, const fmi2ValueReference references[], size_t count, \
        argument) \
    { \
        (void)references; \
        (void)values; \
        return count ? refuse(c, "all variables are real; there are no others") : fmi2OK; \
    }

NO_VARIABLES(Integer, const fmi2Integer values[])
NO_VARIABLES(Boolean, const fmi2Boolean values[])
NO_VARIABLES(String, const fmi2String values[])

/* ---- states of the whole instance ---- */

FMI2_EXPORT fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    Instance *self = c;
    if (!*state) {
        *state = self->callbacks.allocateMemory(1, sizeof(Instance));
    }
    if (!*state) {
        return report(self, fmi2Error, "memory for a state must be available; it is not");
    }
    memcpy(*state, self, sizeof(Instance));
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    Instance *self = c;
    const fmi2CallbackFunctions callbacks = self->callbacks;
    memcpy(self, state, sizeof(Instance));
    self->callbacks = callbacks;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    if (*state) {
        ((Instance *)c)->callbacks.freeMemory(*state);
        *state = NULL;
    }
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    (void)c;
    (void)state;
    *size = sizeof(Instance);
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    if (size < sizeof(Instance)) {
        return refuse(c, "the memory of a serialised state must have the stated size");
    }
    memcpy(bytes, state, sizeof(Instance));
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size,
    fmi2FMUstate *state)
{
    if (size != sizeof(Instance)) {
        return refuse(c, "a serialised state must be one of this model");
    }
    if (fmi2GetFMUstate(c, state) != fmi2OK) {
        return fmi2Error;
    }
    memcpy(*state, bytes, sizeof(Instance));
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknowns[],
    size_t unknown_count, const fmi2ValueReference knowns[], size_t known_count, const fmi2Real seed[],
    fmi2Real derivatives[])
{
    (void)unknowns;
    (void)unknown_count;
    (void)knowns;
    (void)known_count;
    (void)seed;
    (void)derivatives;
    return refuse(c, "directional derivatives are not provided");
}

/* ---- co-simulation ---- */

FMI2_EXPORT fmi2Status fmi2DoStep(fmi2Component c, fmi2Real now, fmi2Real step, fmi2Boolean no_set_state)
{
    Instance *self = c;
    (void)no_set_state;
    if (!(step >= 0.0)) {
        return report(self, fmi2Error, "a communication step must not be negative");
    }
    self->t = now;
    self->outputs_known = 0;
    if (!@NAME@_integrate(self->y, &self->t, now + step, &self->step, self->p, self->rtol, self->atol, MOST_STEPS)) {
        return report(self, fmi2Discard, "the step must end before a singular position, or with fewer internal steps");
    }
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2CancelStep(fmi2Component c)
{
    return refuse(c, "steps are finished when fmi2DoStep returns, and cannot be cancelled");
}

FMI2_EXPORT fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference references[],
    size_t count, const fmi2Integer orders[], const fmi2Real values[])
{
    (void)references;
    (void)orders;
    (void)values;
    return count ? refuse(c, "inputs are held during a step; their derivatives are not used") : fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference references[],
    size_t count, const fmi2Integer orders[], fmi2Real values[])
{
    (void)references;
    (void)orders;
    (void)values;
    return count ? refuse(c, "derivatives of outputs are not provided") : fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value)
{
    (void)c;
    (void)kind;
    *value = fmi2OK;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    if (kind != fmi2LastSuccessfulTime) {
        return fmi2Discard;
    }
    *value = ((Instance *)c)->t;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value)
{
    (void)c;
    (void)kind;
    (void)value;
    return fmi2Discard;
}

FMI2_EXPORT fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    (void)c;
    if (kind != fmi2Terminated) {
        return fmi2Discard;
    }
    *value = 0;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String *value)
{
    (void)c;
    (void)kind;
    (void)value;
    return fmi2Discard;
}

/* ---- model exchange ---- */

FMI2_EXPORT fmi2Status fmi2EnterEventMode(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    Instance *self = c;
    double projected[@NAME@_STATES];
    memset(info, 0, sizeof(*info));
    /* the only event: the state has drifted from the constraints, and is projected onto them */
    if (self->drifted) {
        if (!@NAME@_project(self->y, self->t, self->p, projected)) {
            return report(self, fmi2Error, "the projection onto the constraints must be finite; it is not");
        }
        memcpy(self->y, projected, sizeof(projected));
        self->drifted = self->outputs_known = 0;
        info->valuesOfContinuousStatesChanged = 1;
    }
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean no_set_state,
    fmi2Boolean *enter_event_mode, fmi2Boolean *terminate)
{
    Instance *self = c;
    double projected[@NAME@_STATES];
    int i;
    (void)no_set_state;
    self->drifted = 0;
    if (@NAME@_project(self->y, self->t, self->p, projected)) {
        for (i = 0; i < @NAME@_STATES; i++) {
            if (fabs(projected[i] - self->y[i]) > @MOST_DRIFT@*(self->atol[i] + self->rtol*fabs(self->y[i]))) {
                self->drifted = 1;
            }
        }
    }
    *enter_event_mode = self->drifted;
    *terminate = 0;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    Instance *self = c;
    self->t = time;
    self->outputs_known = 0;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real y[], size_t count)
{
    Instance *self = c;
    if (count != @NAME@_STATES) {
        return report(self, fmi2Error, "the number of continuous states must be that of the model");
    }
    memcpy(self->y, y, sizeof(self->y));
    self->outputs_known = 0;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real y[], size_t count)
{
    Instance *self = c;
    if (count != @NAME@_STATES) {
        return report(self, fmi2Error, "the number of continuous states must be that of the model");
    }
    memcpy(y, self->y, sizeof(self->y));
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t count)
{
    Instance *self = c;
    if (count != @NAME@_STATES) {
        return report(self, fmi2Error, "the number of derivatives must be that of the states");
    }
    memcpy(derivatives, self->y + @NAME@_COORDINATES, @NAME@_COORDINATES*sizeof(double));
    if (!@NAME@_acceleration(self->y, self->t, self->p, derivatives + @NAME@_COORDINATES)) {
        return report(self, fmi2Discard, "the equations must be solvable; at this state they are not");
    }
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real indicators[], size_t count)
{
    (void)indicators;
    return count ? refuse(c, "the model has no event indicators") : fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real nominals[], size_t count)
{
    Instance *self = c;
    size_t i;
    if (count != @NAME@_STATES) {
        return report(self, fmi2Error, "the number of nominal values must be that of the states");
    }
    for (i = 0; i < count; i++) {
        nominals[i] = 1.0;
    }
    return fmi2OK;
}
