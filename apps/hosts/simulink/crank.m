% A Simulink model of the crank: the FMU of the mechanism with a controller that is sampled every 10 ms.
%
%   rtmbs export apps/hosts/crank.py --fmi 2 --inputs motor.torque --outputs pivot.rate --h 1e-3 --out crank.fmu
%
% Then run this script in the folder of crank.fmu. The last speed is that of the other hosts in apps/hosts.
fmu = 'crank.fmu';
every = '0.01';              % [s] communication step of the FMU and sampling of the controller: a multiple of h
reference = '8';             % [rad/s]
kp = '0.6';
ki = '2';
model = 'crank_loop';

addpath(pwd);                % the FMU block looks for the bare name on the path
new_system(model);
set_param(model, 'SolverType', 'Fixed-step', 'Solver', 'FixedStepDiscrete', 'FixedStep', every, 'StopTime', '2');

add_block('simulink_extras/FMU Import/FMU', [model '/crank']);
set_param([model '/crank'], 'FMUName', fmu);
set_param([model '/crank'], 'FMUSampleTime', every, 'FMUInputMapping', 'Flat', 'FMUOutputMapping', 'Flat');

add_block('simulink/Sources/Constant', [model '/reference'], 'Value', reference, 'SampleTime', every);
add_block('simulink/Math Operations/Sum', [model '/error'], 'Inputs', '+-');
add_block('simulink/Math Operations/Gain', [model '/proportional'], 'Gain', kp);
add_block('simulink/Math Operations/Gain', [model '/integral gain'], 'Gain', ki);
add_block('simulink/Discrete/Discrete-Time Integrator', [model '/integral'], 'IntegratorMethod', ...
    'Integration: Forward Euler', 'SampleTime', every);
add_block('simulink/Math Operations/Sum', [model '/torque'], 'Inputs', '++');
add_block('simulink/Sinks/To Workspace', [model '/speed'], 'VariableName', 'speed', 'SaveFormat', 'Array');

add_line(model, 'reference/1', 'error/1');
add_line(model, 'crank/1', 'error/2');
add_line(model, 'error/1', 'proportional/1');
add_line(model, 'error/1', 'integral/1');
add_line(model, 'integral/1', 'integral gain/1');
add_line(model, 'proportional/1', 'torque/1');
add_line(model, 'integral gain/1', 'torque/2');
add_line(model, 'torque/1', 'crank/1');
add_line(model, 'crank/1', 'speed/1');

out = sim(model);
speed = out.speed;
fprintf('speed = %.17g rad/s\n', speed(end));
